/** Passwords among the arguments of commands and calls, recognized only by their position. */
import type { Anchor } from "../anchor.ts";
import { asWord } from "../anchor.ts";
import { type Check, hitOf, spend } from "../check.ts";
import { isAlphanumeric, matchAt } from "../text/ascii.ts";
import commands from "../words/commands.txt" with { type: "text" };
import { bounded, columnsOf, listsOf } from "../words/lists.ts";
import { isPlaceholder, looksLikePassword } from "./plausible.ts";
import { isShortOne, looksChosen, mayBeOne } from "./sentence.ts";

/** The costs of checks, units. */
const COMMAND_UNITS = 200;
const CALL_UNITS = 300;
const REACH_BEFORE = 120;
const SHORTEST = 4;
/** Longest run that a pattern reads. */
const LONGEST_RUN = 128;

const isReference = (value: string): boolean => /^[$<{%`-]|\$[{(\w]|\{\{|^\/|^\w+:\/\//.test(value);
const bare = (value: string): string => value.replace(/^["']|["']$/g, "");

function isPassword(written: string): boolean {
  const value = bare(written);
  if (value.length < SHORTEST || isReference(value) || isPlaceholder(value)) return false;
  return !/^[\d:.,/]+$/.test(value) && (looksLikePassword(value) || value !== written);
}

const sections = listsOf(commands, ["behind", "behind, any word", "in front", "calls", "places in calls"]);
const rows = (section: "behind" | "behind, any word" | "in front", flags: string): [string, RegExp][] =>
  sections[section].map((row) => {
    const [command = "", pattern = ""] = columnsOf(row);
    const [, source = "", own = ""] = /^\/(.+)\/(i?)$/.exec(pattern) ?? [];
    return [command, new RegExp(bounded(source, LONGEST_RUN), flags + own)];
  });

/** What is no variable, and no number. */
const isWord = (written: string): boolean => {
  const value = bare(written);
  return (
    value.length >= SHORTEST &&
    !isReference(value) &&
    !isPlaceholder(value) &&
    !/^[\d:.,/]+$|\($/.test(value) &&
    !DEFAULTS.has(value)
  );
};
/** The defaults in manuals and programs, before somebody chooses a password. */
const DEFAULTS: ReadonlySet<string> = new Set(["public", "private", "foobared"]);

/** What follows a command that is a string of JSON: the closing quote and the next member. */
const BEHIND_STRING = /(?<=^[^"]+)"[,}\]][\s\S]*$/;

function behind(pattern: RegExp, isOne: (written: string) => boolean = isPassword): Check {
  return (text, _start, end) => {
    spend(COMMAND_UNITS);
    const written = matchAt(pattern, text, end)?.[1];
    if (written === undefined) return null;
    const start = pattern.lastIndex - written.length;
    const password = written.replace(BEHIND_STRING, "");
    return isOne(password) ? hitOf("generic_credential", start, start + password.length) : null;
  };
}

/** The same after a colon, which the password touches. */
function behindColon(pattern: RegExp): Check {
  const check = behind(pattern);
  return (text, start, end) => (isAlphanumeric(text.charCodeAt(start - 1)) ? null : check(text, start, end));
}

function inFront(pattern: RegExp): Check {
  return (text, start) => {
    spend(COMMAND_UNITS);
    const from = Math.max(0, start - REACH_BEFORE);
    const match = pattern.exec(text.slice(from, start));
    const password = match?.[1];
    if (match === null || password === undefined || !isPassword(password)) return null;
    const at = from + match.index + match[0].indexOf(password);
    return hitOf("generic_credential", at, at + password.length);
  };
}

const ARGUMENT =
  /\s{0,8}(?:\w{1,24}\s?=\s?)?(?:[bru]{0,2}"([^"\n]{1,128})"|[bru]{0,2}'([^'\n]{1,128})'|\{[^{}\n]{0,80}\}|[\w.$[\]]{1,64}(?:\(\))?)\s{0,8}(,|\))/y;
const MOST_ARGUMENTS = 5;

/** A text among the first arguments of a call. */
interface TextArgument {
  /** Which argument it is, from 0. */
  index: number;
  value: string;
  /** Where the argument begins. */
  at: number;
}

/** Returns the texts among the first arguments of a call, from their beginning on. */
function* textArguments(text: string, from: number): Generator<TextArgument> {
  let at = from;
  for (let index = 0; index < MOST_ARGUMENTS; index++) {
    const match = matchAt(ARGUMENT, text, at);
    if (match === null) return;
    // The caller may search for other arguments before it takes the next one.
    const next = ARGUMENT.lastIndex;
    const value = match[1] ?? match[2];
    if (value !== undefined) yield { index, value, at };
    if (match[3] === ")") return;
    at = next;
  }
}

/** The text after the first argument that looks like a password. */
function argument(isClear: boolean, isLogin: boolean): Check {
  return (text, _start, end) => {
    spend(CALL_UNITS);
    for (const { index, value, at } of textArguments(text, end)) {
      if (index === 0 || isReference(value) || isPlaceholder(value)) continue;
      const isPlausible =
        looksChosen(value) ||
        (isClear && looksLikePassword(value)) ||
        (isLogin && ((/^\p{Lu}|[-_.!]\d/u.test(value) && mayBeOne(value)) || isShortOne(value)));
      const from = text.indexOf(value, at);
      if (isPlausible && !/\s|^[\w.-]+@/.test(value)) return hitOf("generic_credential", from, from + value.length);
    }
    return null;
  };
}

/** The text that stands at one of these places among the arguments, `"1"` for the second. */
function placed(places: string): Check {
  return (text, _start, end) => {
    spend(CALL_UNITS);
    for (const { index, value, at } of textArguments(text, end)) {
      if (!places.includes(String(index)) || !isWord(value) || /\s|[/\\]|\w@\w/.test(value)) continue;
      const from = text.indexOf(value, at);
      return hitOf("generic_credential", from, from + value.length);
    }
    return null;
  };
}

/** An anchor for each command and call of words/commands.txt. */
export function commandAnchors(): Anchor[] {
  return [
    ...rows("behind", "y").map(([word, pattern]) =>
      word.endsWith(":") ? { word, check: behindColon(pattern) } : asWord(word, behind(pattern)),
    ),
    ...rows("behind, any word", "y").map(([word, pattern]) => asWord(word, behind(pattern, isWord))),
    ...sections["places in calls"].map((row) => {
      const [word = "", places = ""] = columnsOf(row);
      return { word, check: placed(places) };
    }),
    ...rows("in front", "").map(([word, pattern]) =>
      word.startsWith("@") ? { word, check: inFront(pattern) } : asWord(word, inFront(pattern)),
    ),
    ...sections.calls.map((word) => ({
      word,
      check: argument(/cred|basic|entry|authenticator/.test(word), word === "login("),
    })),
  ];
}
