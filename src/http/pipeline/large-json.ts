/**
 * Parsing of large bodies in pieces, so that other requests are served between them. The elements of a list that is a
 * member of the body are parsed one by one, and the body itself with zeros in their place: both are JSON exactly when
 * the body is.
 */
import type { JsonObject, JsonValue } from "../../json.ts";
import { stringEnd } from "../../log/json-scan.ts";
import { nextTurn } from "../../timer.ts";
import { decode, parseStrictJson, strictObject, strictValue } from "./strict-json.ts";

/** Bodies from this length on are parsed in pieces of about this length, bytes and UTF-16 units. */
const PIECE = 256 * 1024;

/** A list of more elements is not divided: no body may have it. */
const MAX_ELEMENTS = 10_000;

/** The elements of the list are in the body, which is an object: level 1, and in the list: level 2. */
const DEPTH_OF_ELEMENTS = 2;

/** A list in a text: what follows its bracket, its closing bracket, and the commas between its elements. */
interface List {
  start: number;
  end: number;
  commas: number[];
}

/**
 * As {@link parseStrictJson}, of a body whose only list may be long. `piece`: the length from which on it is divided.
 * @throws {JsonProblem}
 */
export async function parseLargeJson(bytes: Uint8Array, piece = PIECE): Promise<JsonObject> {
  if (bytes.length < piece) return parseStrictJson(bytes);
  const text = decode(bytes);
  await nextTurn();
  const list = await findList(text);
  if (list === null) return strictObject(text);
  const places = [...list.commas, list.end];
  const elements: JsonValue[] = [];
  const isEmpty = list.commas.length === 0 && text.slice(list.start, list.end).trim() === "";
  const zeros = isEmpty ? "" : places.map(() => "0").join(",");
  const body = strictObject(text.slice(0, list.start) + zeros + text.slice(list.end));
  let from = list.start;
  let parsed = 0;
  for (const place of isEmpty ? [] : places) {
    elements.push(strictValue(text.slice(from, place), DEPTH_OF_ELEMENTS));
    parsed += place - from;
    from = place + 1;
    if (parsed < PIECE) continue;
    await nextTurn();
    parsed = 0;
  }
  // Which of several lists comes first in the text, the object does not tell.
  const [name, ...others] = Object.keys(body).filter((member) => Array.isArray(body[member]));
  if (name === undefined || others.length > 0) return strictObject(text);
  Object.defineProperty(body, name, { value: elements, enumerable: true, writable: true, configurable: true });
  return body;
}

const QUOTE = 0x22;
const COMMA = 0x2c;

/** The first list that is a member of the object that a text is; null when there is none that is to be divided. */
async function findList(text: string): Promise<List | null> {
  let depth = 0;
  let list: List | null = null;
  let pause = PIECE;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = stringEnd(text, at);
      if (end < 0) return null;
      at = end - 1;
    } else if (code === COMMA) {
      if (list === null || depth !== DEPTH_OF_ELEMENTS) continue;
      if (list.commas.length === MAX_ELEMENTS) return null;
      list.commas.push(at);
    } else if (isOpening(code)) {
      depth += 1;
      if (list === null && depth === DEPTH_OF_ELEMENTS && code === LIST) list = { start: at + 1, end: -1, commas: [] };
    } else if (isClosing(code)) {
      if (list !== null && depth === DEPTH_OF_ELEMENTS) return { ...list, end: at };
      depth -= 1;
    }
    if (at < pause) continue;
    await nextTurn();
    pause = at + PIECE;
  }
  return null;
}

const LIST = 0x5b;
const isOpening = (code: number): boolean => code === LIST || code === 0x7b;
const isClosing = (code: number): boolean => code === 0x5d || code === 0x7d;
