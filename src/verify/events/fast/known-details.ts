/**
 * Recognizes details of a known form in bytes, as canonical JSON. Every form of `operations.ts` is one sequence of
 * members in the order of their names. What is not recognized may still be valid, and takes the plain path.
 */
import { isUtf8 } from "node:buffer";
import {
  allMembers,
  type Bearer,
  type DetailsForm,
  type Member,
  type Members,
  momentOf,
  type ValueForm,
} from "../../../details.ts";
import { Bytes, same } from "../../../log/bytes.ts";
import { type CanonicalScan, UNSURE } from "../../../log/canonical-scan.ts";
import { HASH_CHARS, ID_CHARS, isTypeId, TIME_CHARS, TimeForm } from "./text-forms.ts";

/** The version of the workspace's policies that details state: the text in quotes, null for none, or any. */
export type StatedPolicies = Bytes | null | "any";

/** Returns the position after a value at `at`, or UNSURE. */
type Value = (scan: CanonicalScan, text: Bytes, at: number) => number;

interface Step {
  /** The name with its quotes and colon. */
  name: Bytes;
  value: Value;
  due: boolean;
  /** Whether the value must be the version of the workspace's policies in force, if there is one. */
  isPolicies: boolean;
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
const TRACE_CHARS = 55;
const DASHES: readonly number[] = [2, 35, 52];

/** Details of events of one shape. */
export class KnownDetails {
  readonly #forms: readonly (readonly Step[])[];

  constructor(forms: readonly DetailsForm[], bearer: Bearer) {
    this.#forms = forms.map((form) => {
      const statesPolicies = bearer.agentId !== null || form.chain === "agent or none";
      return stepsOf({ ...allMembers(form, bearer), ...(statesPolicies && { [POLICIES]: ANY_POLICIES }) });
    });
  }

  /** Returns the position after details of this shape that begin at `at`, or UNSURE. */
  end(scan: CanonicalScan, text: Bytes, at: number, policies: StatedPolicies): number {
    for (const steps of this.#forms) {
      scan.begin(text.u8);
      const end = objectEnd(steps, scan, text, at, policies);
      if (end === UNSURE) continue;
      return !scan.foreign || isUtf8(text.u8.subarray(at, end)) ? end : UNSURE;
    }
    return UNSURE;
  }
}

function objectEnd(
  steps: readonly Step[],
  scan: CanonicalScan,
  text: Bytes,
  at: number,
  policies: StatedPolicies,
): number {
  const { u8 } = text;
  if (u8[at] !== OPEN_BRACE) return UNSURE;
  let place = at + 1;
  let met = 0;
  for (const { name, value, due, isPolicies } of steps) {
    const nameAt = met === 0 ? place : place + 1;
    const { length } = name.u8;
    const isThere = (met === 0 || u8[place] === COMMA) && same(text, nameAt, name, 0, length);
    if (!isThere) {
      if (due || (isPolicies && policies !== null && policies !== "any")) return UNSURE;
      continue;
    }
    const end =
      isPolicies && policies !== "any"
        ? policiesEnd(text, nameAt + length, policies)
        : value(scan, text, nameAt + length);
    if (end === UNSURE) return UNSURE;
    place = end;
    met += 1;
  }
  return u8[place] === CLOSE_BRACE ? place + 1 : UNSURE;
}

function policiesEnd(text: Bytes, at: number, policies: Bytes | null): number {
  if (policies === null) return UNSURE;
  const { length } = policies.u8;
  return same(text, at, policies, 0, length) ? at + length : UNSURE;
}

const POLICIES = "policies_version";
const ANY_POLICIES: Member = { name: "p1", fits: () => true, presence: "optional" };

const stepsOf = (members: Members): Step[] =>
  Object.entries(members)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => ({
      name: Bytes.of(`"${name}":`),
      value: checkOf(member),
      due: member.presence === undefined || member.presence === "unless_redacted",
      isPolicies: name === POLICIES,
    }));

function checkOf({ name, parts }: ValueForm): Value {
  if (parts !== undefined && "words" in parts) return oneOf(parts.words.map((word) => Bytes.of(`"${word}"`)));
  if (parts !== undefined && "items" in parts) return listOf(checkOf(parts.items));
  if (parts !== undefined && "members" in parts) return onlyOf(stepsOf(parts.members));
  if (parts !== undefined) return eitherOf(checkOf(parts.either[0]), checkOf(parts.either[1]));
  if (name.endsWith("_")) return idOf(Bytes.of(`"${name}`));
  return VALUES[name] ?? (() => UNSURE);
}

const oneOf =
  (words: readonly Bytes[]): Value =>
  (_, text, at) => {
    for (const word of words) if (same(text, at, word, 0, word.u8.length)) return at + word.u8.length;
    return UNSURE;
  };

const listOf =
  (item: Value): Value =>
  (scan, text, at) => {
    const { u8 } = text;
    if (u8[at] !== OPEN_BRACKET) return UNSURE;
    if (u8[at + 1] === CLOSE_BRACKET) return at + 2;
    for (let place = item(scan, text, at + 1); place !== UNSURE; place = item(scan, text, place + 1)) {
      if (u8[place] === CLOSE_BRACKET) return place + 1;
      if (u8[place] !== COMMA) return UNSURE;
    }
    return UNSURE;
  };

const onlyOf =
  (steps: readonly Step[]): Value =>
  (scan, text, at) =>
    objectEnd(steps, scan, text, at, "any");

const eitherOf =
  (a: Value, b: Value): Value =>
  (scan, text, at) => {
    const end = a(scan, text, at);
    return end === UNSURE ? b(scan, text, at) : end;
  };

const idOf =
  (prefix: Bytes): Value =>
  (_, text, at) => {
    const idAt = at + prefix.u8.length;
    const isId = same(text, at, prefix, 0, prefix.u8.length) && isTypeId(text.u8, idAt);
    return isId && text.u8[idAt + ID_CHARS] === QUOTE ? idAt + ID_CHARS + 1 : UNSURE;
  };

/** Returns the end of a quoted text of `length` characters, of which each must be of a class. */
const quotedEnd = (
  u8: Uint8Array,
  at: number,
  length: number,
  isGood: (code: number, index: number) => boolean,
): number => {
  if (u8[at] !== QUOTE || u8[at + 1 + length] !== QUOTE) return UNSURE;
  for (let index = 0; index < length; index++) if (!isGood(u8[at + 1 + index] as number, index)) return UNSURE;
  return at + length + 2;
};

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;
const isHexDigit = (code: number): boolean => isDigit(code) || (code >= 0x61 && code <= 0x66);
const isOfTrace = (code: number, index: number): boolean => (DASHES.includes(index) ? code === 0x2d : isHexDigit(code));

/** A version: a letter and a number without leading zeros. */
const versionOf =
  (letter: number): Value =>
  (_, { u8 }, at) => {
    if (u8[at] !== QUOTE || u8[at + 1] !== letter || u8[at + 2] === ZERO) return UNSURE;
    let place = at + 2;
    while (isDigit(u8[place] as number)) place++;
    const digits = place - at - 2;
    return digits >= 1 && digits <= 15 && u8[place] === QUOTE ? place + 1 : UNSURE;
  };

const timeForm = new TimeForm();

const time: Value = (_, text, at) => {
  if (text.u8[at] !== QUOTE || text.u8[at + 1 + TIME_CHARS] !== QUOTE) return UNSURE;
  if (!timeForm.fits(text, at + 1)) {
    const written = text.ascii(at + 1, at + 1 + TIME_CHARS);
    if (momentOf(written) === undefined) return UNSURE;
    timeForm.learn(written);
  }
  return at + TIME_CHARS + 2;
};

const count: Value = (scan, text, at) => (isDigit(text.u8[at] as number) ? scan.integerEnd(at) : UNSURE);
const word = (written: string): Value => oneOf([Bytes.of(written)]);

/** The values of forms without parts, by name. Details with others take the plain path. */
const VALUES: Readonly<Record<string, Value>> = {
  text: (scan, _, at) => scan.stringEnd(at),
  count,
  some: (scan, text, at) => (text.u8[at] === ZERO ? UNSURE : count(scan, text, at)),
  flag: eitherOf(word("true"), word("false")),
  true: word("true"),
  false: word("false"),
  null: word("null"),
  hash: (_, { u8 }, at) => quotedEnd(u8, at, HASH_CHARS, isHexDigit),
  trace: (_, { u8 }, at) => quotedEnd(u8, at, TRACE_CHARS, isOfTrace),
  time,
  v1: versionOf(0x76),
  p1: versionOf(0x70),
};
