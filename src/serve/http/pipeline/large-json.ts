/**
 * Parses large bodies in pieces, so that other requests are served between them. The elements of the body's list are
 * decoded and parsed one by one, and then the body itself with zeros in place of the elements. All of these parts are
 * JSON exactly when the body is.
 */
import type { JsonObject, JsonValue } from "../../../json.ts";
import { ownTurn } from "../../../timer.ts";
import { decode, JsonProblem, parseStrictJson, strictObject, strictValue } from "./strict-json.ts";

/** Bodies of at least this length are parsed in pieces of about this length, bytes. */
export const PIECE = 128 * 1024;

/** A list with more elements is not divided: no operation accepts one. */
const MAX_ELEMENTS = 10_000;

/** The most bytes of an element: every byte of the longest value and metadata may be written with six characters. */
const MAX_ELEMENT = 7 * 1024 * 1024;
/** The most bytes of a body outside its list. */
const MAX_REST = 1024 * 1024;

/** The nesting of the list's elements: the body, an object, is level 1, and the list is level 2. */
const DEPTH_OF_ELEMENTS = 2;

/**
 * The positions of a list in a body: after its opening bracket, of its closing bracket, and of the commas between its
 * elements.
 */
interface List {
  start: number;
  end: number;
  commas: number[];
}

interface Options {
  /** The least length of a body that is divided, bytes. */
  piece?: number;
  /** Called with each element, for further work that takes time. */
  onElement?: (element: JsonValue) => void;
}

/**
 * As {@link parseStrictJson}, for a body whose only list may be long.
 * @throws {JsonProblem}
 */
export async function parseLargeJson(
  body: Uint8Array,
  { piece = PIECE, onElement }: Options = {},
): Promise<JsonObject> {
  if (body.length < piece) return parseStrictJson(body);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  await ownTurn();
  const list = await findList(bytes);
  if (list === null) return strictObject(boundedText(bytes));
  const places = [...list.commas, list.end];
  const elements: JsonValue[] = [];
  const isEmpty = list.commas.length === 0 && boundedText(bytes, list.start, list.end, MAX_ELEMENT).trim() === "";
  const zeros = isEmpty ? "" : places.map(() => "0").join(",");
  const parsed = strictObject(boundedText(bytes, 0, list.start) + zeros + boundedText(bytes, list.end));
  let from = list.start;
  let length = 0;
  for (const place of isEmpty ? [] : places) {
    const element = strictValue(boundedText(bytes, from, place, MAX_ELEMENT), DEPTH_OF_ELEMENTS);
    onElement?.(element);
    elements.push(element);
    length += place - from;
    from = place + 1;
    if (length < PIECE) continue;
    await ownTurn();
    length = 0;
  }
  // The object does not tell which of several lists comes first in the body.
  const [name, ...others] = Object.keys(parsed).filter((member) => Array.isArray(parsed[member]));
  if (name === undefined || others.length > 0) return strictObject(boundedText(bytes));
  Object.defineProperty(parsed, name, { value: elements, enumerable: true, writable: true, configurable: true });
  return parsed;
}

/** Returns the text of a part of a body. @throws {JsonProblem} when it is too long for one piece, or not UTF-8 */
function boundedText(bytes: Uint8Array, start = 0, end = bytes.length, most = MAX_REST): string {
  if (end - start > most) throw new JsonProblem(`A part of the body has more than ${most} bytes. Send less at once.`);
  return decode(bytes.subarray(start, end));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LIST = 0x5b;
const OBJECT = 0x7b;
const LIST_END = 0x5d;
const OBJECT_END = 0x7d;

/** Returns the first list among the members of a body; null when there is none that can be divided. */
async function findList(bytes: Buffer): Promise<List | null> {
  let depth = 0;
  let list: List | null = null;
  let pause = PIECE;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    if (at >= pause) {
      await ownTurn();
      pause = at + PIECE;
    }
    if (inString) {
      at = bytes.indexOf(QUOTE, at);
      if (at < 0) return null;
      inString = isEscaped(bytes, at);
      continue;
    }
    switch (bytes[at]) {
      case QUOTE:
        inString = true;
        break;
      case COMMA:
        if (list === null || depth !== DEPTH_OF_ELEMENTS) break;
        if (list.commas.length === MAX_ELEMENTS) return null;
        list.commas.push(at);
        break;
      case LIST:
      case OBJECT:
        depth += 1;
        if (list !== null || depth !== DEPTH_OF_ELEMENTS || bytes[at] === OBJECT) break;
        list = { start: at + 1, end: -1, commas: [] };
        break;
      case LIST_END:
      case OBJECT_END:
        if (list !== null && depth === DEPTH_OF_ELEMENTS) return { ...list, end: at };
        depth -= 1;
        break;
    }
  }
  return null;
}

/** Whether the quote at a position belongs to its string. */
function isEscaped(bytes: Uint8Array, quote: number): boolean {
  let backslashes = 0;
  while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
