/** Secrets one level or more below their label: the items of a list, the members of a table (`api_keys: {prod: …}`). */
import { type Hit, hitOf, spend } from "../check.ts";
import { listBehind } from "../list/list.ts";
import { matchEnd } from "../text/ascii.ts";
import type { Assigned } from "./assignment.ts";
import { isSecret, type SecretWord, SHORTEST_KEY } from "./judged.ts";
import { saysOfSecret } from "./plausible.ts";
import { NAME_OF_ONE } from "./sentence.ts";

/** The name or the path of a secret; a call, as in the tokens of a design. */
const NO_KEY =
  /^(?:[a-z\d]+[-_])+(?:key|token|secret|password|credential)s?[-_]?v?\d{0,3}$|\/secrets\/|^[a-z][\w-]*\([^()]*\)$/i;
/** The cost of judging a member, units. */
const MEMBER_UNITS = 600;
const SUBSCRIPT = /(?:\.[\w-]{1,32}|\[["']?[\w-]{1,32}["']?\]){1,3}(?=["']?\s{0,3}[:=])/y;

/** The end of `api_keys.prod`, `api_keys[0]`: a member of the secret that is named up to `at`. */
export function endOfMember(text: string, at: number): number {
  const end = matchEnd(SUBSCRIPT, text, at);
  return end < 0 || saysOfSecret(text.slice(at, end)) ? at : end;
}

/** How far behind its label a list is read. */
const REACH_OF_LIST = 800;
const SHORTEST_MEMBER = 6;
/** How far behind its label a list begins. */
const REACH_OF_BEGINNING = 80;

/**
 * The first secret in the list behind its label: an item alone, or the value of a name (`api_keys: {prod: …}`). A
 * password in a member must look like one, since a label above members may also be that of a form.
 */
export function memberBelow(text: string, nameEnd: number, word: SecretWord): Hit | null {
  if (!LIST_BEHIND.test(text.slice(nameEnd, nameEnd + REACH_OF_BEGINNING))) return null;
  const around = text.slice(nameEnd, nameEnd + REACH_OF_LIST);
  if (!hasRun(around, word === "key" ? SHORTEST_KEY : SHORTEST_MEMBER)) return null;
  spend(2 * around.length);
  for (const { start: at, end, name } of listBehind(around, 0)) {
    const value = around.slice(at, end);
    if (
      value.length < SHORTEST_MEMBER ||
      NAME_OF_ONE.test(value) ||
      (word === "key" && NO_KEY.test(value)) ||
      (name !== null && saysOfSecret(around.slice(name.start, name.end)))
    )
      continue;
    const quoted = /["'`]/.test(around[at - 1] ?? "");
    const link = word === "password" ? "said" : "assigned";
    spend(MEMBER_UNITS);
    if (isSecret(value, word, { start: at, end, link, quoted: quoted && word === "key", copula: false }))
      return hitOf("generic_credential", nameEnd + at, nameEnd + end);
  }
  return null;
}

/** Whether a text has a run with a digit or a sign of at least `shortest` characters, as every list with a secret has. */
function hasRun(text: string, shortest: number): boolean {
  let run = 0;
  let isMixed = false;
  for (let at = 0; at < text.length; at++) {
    const kind = RUN_KINDS[text.charCodeAt(at)] ?? LETTER;
    run = kind === END ? 0 : run + 1;
    isMixed = run > 0 && (isMixed || kind === MIXED);
    if ((run >= shortest && isMixed) || run >= LONGEST_WORD) return true;
  }
  return false;
}
const END = 0;
const LETTER = 1;
const MIXED = 2;
const RUN_KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (/[\s"'`,;:={}()[\]<>]/.test(sign)) return END;
  return /[A-Za-z_./-]/.test(sign) ? LETTER : MIXED;
});
/** A run of letters is a secret only from here on. */
const LONGEST_WORD = 16;

/**
 * Whether a key may stand beside its name: in a sentence, several keys are spoken of, and a list with members was read.
 * What is above a text (the names in metadata) stands before it with a colon.
 */
export function mayBeBeside(text: string, nameEnd: number, value: Assigned | null, isPlural: boolean): boolean {
  if (isPlural)
    return value !== null && (value.link === "assigned" || /^ [\w.-]{1,40}:? $/.test(text.slice(nameEnd, value.start)));
  return !OPENS_LIST.test(text.slice(nameEnd, nameEnd + REACH_OF_BEGINNING));
}
const OPENS_LIST = /^["'`]{0,2}\s{0,3}(?:[:=]>?)?\s{0,3}(?:\{|\[\s{0,3}\{)/;
const LIST_BEHIND =
  /^["'`\])]{0,3}\s{0,3}(?:>\s{0,8}<[\w!]|<\/key>\s{0,8}<[ad]|[:=]>?\s{0,8}["'`]?[[{(]|[{[]|[:=]?[ \t|>-]{0,4}(?:[#&!][^\n]{0,64})?\r?\n)/;
