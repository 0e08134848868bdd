/** Readers of JSON, each compared with the reference. */

import { CanonicalJsonError, canonicalJson, MAX_JSON_DEPTH, parseCanonicalJson } from "../../src/log/jcs.ts";
import { JsonScanner, JsonTextError, parseStrictJson as parseOnce } from "../../src/log/json-scan.ts";
import { JsonProblem, MAX_DEPTH, parseStrictJson } from "../../src/serve/http/pipeline/strict-json.ts";
import type { Seeded } from "../seeded.ts";
import { mutateBytes, mutateText, pieces, randomJson } from "./mutate.ts";
import { readJson } from "./reference-json.ts";
import { attempt, requireEqual, type Target } from "./target.ts";

const DEEP = 20_000;

function someText(random: Seeded): string {
  const object = () => `{"a":${randomJson(random)},"events":[${randomJson(random)},${randomJson(random)}],"z":1}`;
  const text = random.weighted<() => string>([
    [6, object],
    [3, () => randomJson(random)],
    [1, () => `{"a":${"[".repeat(DEEP)}${"]".repeat(random.pick([0, DEEP]))}}`],
    [1, () => `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`],
  ])();
  return random.chance(0.5) ? text : mutateText(random, text);
}

/** Nested deeper than the reference itself can go. */
const isTooDeep = (text: string): boolean => /[[{](?:"a":)?(?:[[{](?:"a":)?){1000}/.test(text);

function body(random: Seeded): void {
  const text = someText(random);
  const bytes = random.chance(0.3) ? mutateBytes(random, text) : Buffer.from(text);
  const value = attempt(() => parseStrictJson(bytes), JsonProblem);
  const isUtf8 = Buffer.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)).equals(bytes);
  const decoded = Buffer.from(bytes).toString("utf8");
  if (isTooDeep(decoded)) {
    requireEqual("too deep", value, undefined);
    return;
  }
  const found = isUtf8 ? readJson(decoded) : null;
  const isGood =
    found?.isObject === true && !found.repeated && !found.halfPair && !found.inexact && found.depth <= MAX_DEPTH;
  requireEqual(`accepts ${JSON.stringify(decoded)}`, value !== undefined, isGood);
  if (value !== undefined) requireEqual("value", value, JSON.parse(decoded));
}

function onceNamed(random: Seeded): void {
  const text = someText(random);
  const value = attempt(() => parseOnce(text), JsonTextError);
  if (isTooDeep(text)) return;
  const found = readJson(text);
  requireEqual(`accepts ${JSON.stringify(text)}`, value !== undefined, found !== null && !found.repeated);
}

function canonical(random: Seeded): void {
  const original = someText(random);
  const first = attempt(() => canonicalJson(JSON.parse(original)), CanonicalJsonError, SyntaxError, RangeError);
  const text =
    first === undefined || random.chance(0.3) ? original : random.chance(0.5) ? first : mutateText(random, first);
  const value = attempt(() => parseCanonicalJson(text), CanonicalJsonError);
  if (value !== undefined) requireEqual("again", canonicalJson(value), text);
  const found = isTooDeep(text) ? null : readJson(text);
  if (found === null || found.repeated || found.halfPair)
    requireEqual(`takes ${JSON.stringify(text)}`, value, undefined);
  else if (found.depth > MAX_JSON_DEPTH) requireEqual("deep", value, undefined);
}

function scanned(random: Seeded): void {
  const text = someText(random);
  const scan = (parts: Iterable<string>): string[] | undefined =>
    attempt(() => {
      const seen: string[] = [];
      const element = (piece: string) => void seen.push(`element ${piece.trim()}`);
      const member = (name: string, piece: string) => void seen.push(`member ${name} ${piece.trim()}`);
      const scanner = new JsonScanner({ element, member }, "events", 1_000_000);
      for (const part of parts) scanner.push(part);
      return [...seen, scanner.complete ? "complete" : "cut off"];
    }, JsonTextError);
  const whole = scan([text]);
  requireEqual("the chunks do not matter", scan(pieces(random, text)), whole);
  if (isTooDeep(text)) return;
  const found = readJson(text);
  if (found?.isObject !== true) return;
  const value = JSON.parse(text) as Record<string, unknown>;
  // Of a member that stands there twice at the top, it says so.
  if (found.repeated) return;
  const events = value.events;
  if (Object.keys(value).join() !== "a,events,z" || !Array.isArray(events)) return;
  const values = whole?.slice(0, -1).map((piece) => JSON.parse(piece.replace(/^element |^member (?:a|events|z) /, "")));
  requireEqual(text, values, [value.a, ...events, value.z]);
}

export const JSON_TARGETS: Record<string, Target> = { body, onceNamed, canonical, scanned };
