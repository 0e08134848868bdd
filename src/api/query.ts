/**
 * Strict parsing of query strings: each parameter at most once, valid percent-encoding, valid UTF-8. `+` is a space, as
 * form encoders write it (WHATWG URL, application/x-www-form-urlencoded).
 */
import { invalid } from "../problem.ts";

/** The parameters of a request by name, decoded. */
type Query = ReadonlyMap<string, string>;

const NO_LISTS: ReadonlySet<string> = new Set();
const NO_PARAMETERS: Query = new Map();

/** The most characters of an unknown name that a response shows. */
const SHOWN_NAME_LENGTH = 64;

/**
 * Returns the parameters of a query string, which is empty when the URL has none. A parameter in `lists` may be
 * repeated: some clients send a list that way, and others separate its items by commas.
 * @throws {Problem} `invalid_request` for another repeated parameter or invalid encoding
 */
export function parseQuery(text: string, lists: ReadonlySet<string> = NO_LISTS): Query {
  if (text === "") return NO_PARAMETERS;
  const parameters = new Map<string, string>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeName(equals === -1 ? pair : pair.slice(0, equals));
    const before = parameters.get(name);
    if (before !== undefined && !lists.has(name)) {
      throw invalid(`The query parameter ${quoteName(name)} is repeated. Send it once.`, shortName(name));
    }
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    if (value === null) {
      throw invalid(`The query parameter ${quoteName(name)} is not percent-encoded UTF-8.`, shortName(name));
    }
    parameters.set(name, before === undefined ? value : `${before},${value}`);
  }
  return parameters;
}

function decodeName(text: string): string {
  const name = decode(text);
  if (name === null) throw invalid("The name of a query parameter is not percent-encoded UTF-8.");
  return name;
}

/** Decodes `+` and percent-encoding (RFC 3986 section 2.1). Returns null when it is invalid or not UTF-8. */
function decode(text: string): string | null {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}

/** Returns a name for an error message: quoted, with control characters escaped, shortened. */
export const quoteName = (name: string): string => JSON.stringify(shortName(name));

/** Returns a name that a client sent, shortened. */
export function shortName(name: string): string {
  if (name.length <= SHOWN_NAME_LENGTH) return name;
  return `${[...name].slice(0, SHOWN_NAME_LENGTH).join("")}…`;
}
