/**
 * The list behind a label: brackets (JSON, flow lists of YAML, arrays of TOML and of programs) or lines (lists of YAML
 * and Markdown, numbered lines, lines alone) or elements of XML. Its syntax says where it ends, so every item belongs to the label.
 */
import { spend } from "../check.ts";
import { matchEnd } from "../text/ascii.ts";
import { bracketed } from "./bracketed.ts";
import type { Item } from "./item.ts";
import { lined } from "./lined.ts";
import { tagged } from "./tagged.ts";

/** The rest of the label's name, quotes and brackets that close it, a remark in brackets. */
const NAME_END = /[\p{L}\p{M}\w-]{0,40}(?:\\{0,4}["'`*_]){0,3}(?:[ \t]?\([^()\n]{1,48}\))?/uy;
/** Words between the label and its sign: "the backup codes for the mail are:". */
const WORDS = /(?:[ \t]{1,2}[\p{L}\p{M}\d'’()/.-]{1,24}){1,7}?(?=[ \t]{0,2}(?:[:：=]|\*{0,2}\r?\n))/uy;
const SIGN = /[ \t\u00a0]{0,8}(?::=|=>|[:：=]|->)(?:[*_]{2})?[ \t]{0,8}/y;
/** What an element of XML holds others behind: its own name; a `key` of a property list, the heading of a list of HTML. */
const ELEMENT = />\s{0,24}(?=<[\w!])/y;
const PROPERTY =
  /(?:<\/key>\s{0,24}(?=<(?:array|dict)>)|:?<\/(?:h[1-6]|p|b|strong|dt)>\s{0,24}(?=<(?:ul|ol|pre|dd)\b))/y;
/** A block of HCL. */
const BLOCK = /[ \t]{0,4}\{(?=[^{}\n]{0,80}\n)/y;
/** A type or a tag before the bracket: `new String[] {`, `!!seq [`, `set([`. */
const BRACKET = /\s{0,24}(?:new\s)?(?:[!\w.<>]{1,24}(?:\[\])?\s?(?=[[{(]))?(?:\\{0,4}["'`])?[[{(]/y;
/** The end of the label's line. A sign for a text of several lines, an anchor or a tag (YAML) may stand before it. */
const LINE_END =
  /(?:["'`]{3}|[|>][+-]?\d?|[&!][\w./:!-]{1,40})?[ \t]{0,8}(?:#[^\n]{0,80})?(?:\r?\n[ \t]{0,8}){0,1}\r?\n/y;
const UNDERLINE = /[ \t]{0,8}[-=~]{3,}[ \t]{0,8}\r?\n/y;
const FENCE = /[ \t]{0,8}(?:```|~~~)\w{0,16}[ \t]{0,4}\r?\n/y;
/** The rest of a heading of TOML and of INI. */
const HEADING = /["']?\]{1,2}[ \t]{0,8}(?:#[^\n]{0,80})?\r?\n/y;
/** The cost of looking for a list, units. */
const LIST_UNITS = 20;

/**
 * Returns the items of the list behind a label that ends at `at`, without quotes and bullets; none when no list begins
 * there. Takes time in proportion to the length of the list.
 */
export function listBehind(text: string, at: number): Item[] {
  spend(LIST_UNITS);
  const named = Math.max(at, matchEnd(NAME_END, text, at));
  const heading = matchEnd(HEADING, text, named);
  if (heading >= 0) return lined(text, heading, at, "heading");
  const property = matchEnd(PROPERTY, text, named);
  const element = Math.max(matchEnd(ELEMENT, text, named), property);
  if (element >= 0) return tagged(text, element, property >= 0);
  const block = matchEnd(BLOCK, text, named);
  if (block >= 0) return bracketed(text, block - 1);
  const worded = Math.max(named, matchEnd(WORDS, text, named));
  const signed = matchEnd(SIGN, text, worded);
  if (signed >= 0) {
    const bracket = matchEnd(BRACKET, text, signed);
    if (bracket >= 0) return bracketed(text, bracket - 1);
  }
  const line = matchEnd(LINE_END, text, Math.max(worded, signed));
  if (line < 0) return [];
  const below = Math.max(line, matchEnd(UNDERLINE, text, line));
  return lined(text, Math.max(below, matchEnd(FENCE, text, below)), at, signed >= 0 ? "signed" : "none");
}
