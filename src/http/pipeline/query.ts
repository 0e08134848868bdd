/**
 * The query string, strictly: each parameter at most once, percent-encoding that is whole, UTF-8 that
 * is valid. `+` is a space, as every form encoder writes it (WHATWG URL, application/x-www-form-urlencoded).
 */
import { invalid } from "../problem.ts";

/** The parameters of a request by name, decoded. */
export type Query = ReadonlyMap<string, string>;

const NO_PARAMETERS: Query = new Map();

/** Most characters of a made-up name that an answer shows. */
const SHOWN_NAME_LENGTH = 64;

/**
 * Parses what follows the `?` of a URL (an empty string when there is none).
 * @throws {Problem} `invalid_request` for a repeated parameter or a broken encoding.
 */
export function parseQuery(text: string): Query {
  if (text === "") return NO_PARAMETERS;
  const parameters = new Map<string, string>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeName(equals === -1 ? pair : pair.slice(0, equals));
    if (parameters.has(name)) {
      throw invalid(`The query parameter ${quoteName(name)} is repeated. Send it once.`, shortName(name));
    }
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (value === null) {
      throw invalid(`The query parameter ${quoteName(name)} is not percent-encoded UTF-8.`, shortName(name));
    }
    parameters.set(name, value);
  }
  return parameters;
}

function decodeName(text: string): string {
  const name = decode(text);
  if (name === null) throw invalid("The name of a query parameter is not percent-encoded UTF-8.");
  return name;
}

function decode(text: string): string | null {
  return decodePercent(text.includes("+") ? text.replaceAll("+", " ") : text);
}

/** Undoes percent-encoding (RFC 3986 section 2.1); null when it is broken or not valid UTF-8. */
function decodePercent(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** A name as an error message shows it: quoted, control characters escaped, not endless. */
export function quoteName(name: string): string {
  return JSON.stringify(shortName(name));
}

/** A name that a caller made up, cut where it would fill the answer. */
export function shortName(name: string): string {
  if (name.length <= SHOWN_NAME_LENGTH) return name;
  return `${[...name].slice(0, SHOWN_NAME_LENGTH).join("")}…`;
}
