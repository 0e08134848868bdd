/** The schemas of policies whose settings are objects, and checks that a schema cannot express. */
import { type TSchema, Type as t } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { optionalInteger, Timestamp, wordOf } from "../../api/fields.ts";
import { component, object, shape } from "../../api/shapes.ts";
import { expectation } from "../../api/validate.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { invalid, type Problem } from "../../problem.ts";
import { DETECTORS, type DetectorName } from "../../screen/detectors.ts";
import { LIMIT_FORMS, LIMITS } from "../../screen/limits.ts";
import { type Kind, MODES } from "../../screen/modes.ts";
import { MOST_STEPS, regexProblem } from "../../screen/patterns/pattern-set.ts";
import { regexSize } from "../../screen/patterns/size.ts";
import { contentPolicies } from "../../screen/policies.ts";
import {
  MAX_EXCEPTIONS,
  MAX_PATTERNS,
  MAX_REGEX_LENGTH,
  PATTERN_NAME,
  type ScreeningSetting,
} from "../../screen/screening.ts";

const ModeName = component("Mode", wordOf(MODES, "What happens where something matches", { examples: ["redact"] }));

const MAX_PREFIXES = 64;
const MAX_WORDS = 512;

const Prefixes = component(
  "KeyPrefixes",
  t.Array(t.String({ minLength: 1, maxLength: MAX_WORDS }), {
    minItems: 1,
    maxItems: MAX_PREFIXES,
    description: `Only entries whose key has one of these prefixes: 1 to ${MAX_PREFIXES} strings.`,
    examples: [["notes/"]],
  }),
);

/** The modes of the detectors of a kind. */
const modesOf = (kind: Kind) => {
  const [policy, { forbids = "" } = {}] = contentPolicies().find(([, one]) => one.kind === kind) ?? [];
  const names = (Object.keys(DETECTORS) as DetectorName[]).filter((name) => DETECTORS[name].policy === policy);
  return t.Optional(
    object(
      {
        mode: t.Optional(ModeName),
        detectors: t.Optional(
          // A pattern makes the API's document shorter than a member for each detector.
          t.Record(t.RegExp(new RegExp(`^(${names.join("|")})$`)), ModeName, {
            additionalProperties: false,
            description: "The modes of single detectors: an object of detectors and modes.",
          }),
        ),
      },
      `The mode of the detectors of ${forbids}: an object of mode and detectors.`,
    ),
  );
};

const text = (most: number, description: string, example: string) =>
  t.String({
    minLength: 1,
    maxLength: most,
    description: `${description}: 1 to ${most} characters.`,
    examples: [example],
  });

const Pattern = shape(
  "Pattern",
  {
    name: t.String({
      pattern: PATTERN_NAME.source,
      description: "What findings call it: 1 to 64 of a-z, 0-9 and _, a letter first, and no detector's name.",
      examples: ["project_code"],
    }),
    regex: text(MAX_REGEX_LENGTH, "A regular expression in RE2 syntax", "\\bPRJ-[0-9]{5}\\b"),
    ignore_case: t.Optional(t.Boolean({ description: "Whether case is ignored: true or false." })),
    mode: ModeName,
    prefixes: t.Optional(Prefixes),
  },
  "A pattern: an object of name, regex, ignore_case, mode and prefixes.",
);

const Exception = shape(
  "Exception",
  {
    detector: text(64, "A detector, or the name of a pattern", "email"),
    equals: t.Optional(text(MAX_WORDS, "The matched text", "support@contoso.com")),
    ends_with: t.Optional(text(MAX_WORDS, "The end of the matched text", "@example.com")),
    prefixes: t.Optional(Prefixes),
    reason: text(MAX_WORDS, "Why it is an exception", "our public address"),
    expires_at: t.Optional(Timestamp),
  },
  "An exception: an object of detector, equals or ends_with, reason, prefixes and expires_at.",
);

/** The schema of each such policy. */
export const OBJECT_SETTINGS: Readonly<Record<string, TSchema | undefined>> = {
  screening: component(
    "Screening",
    object({
      pii: modesOf("pii"),
      secrets: modesOf("secrets"),
      patterns: t.Optional(
        t.Array(Pattern, { maxItems: MAX_PATTERNS, description: `Patterns of your own: at most ${MAX_PATTERNS}.` }),
      ),
      exceptions: t.Optional(
        t.Array(Exception, { maxItems: MAX_EXCEPTIONS, description: `Exceptions: at most ${MAX_EXCEPTIONS}.` }),
      ),
    }),
  ),
  [LIMITS]: shape(
    "Limits",
    Object.fromEntries(
      Object.entries(LIMIT_FORMS).map(([name, { most, words }]) => [name, optionalInteger(1, most, words)]),
    ),
  ),
};

/** Returns the problem of the first member, at any depth, that a setting's schema refuses; null for none. */
export function formProblem(name: string, schema: TSchema, value: JsonValue): Problem | null {
  const error = Value.Errors(schema, value).First();
  if (error === undefined) return null;
  const below = error.path.replaceAll(/\/(\d+)(?=\/|$)/g, "[$1]").replaceAll("/", ".");
  const param = `policies.${name}${below}`;
  return invalid(`The setting ${JSON.stringify(param)} is not valid. ${expectation(error.schema)}`, param);
}

/** Makes the checks that schemas cannot express. @throws {Problem} 400 that names the member */
export function requireMeaning(policies: JsonObject | undefined): void {
  const screening = policies?.screening as ScreeningSetting | null | undefined;
  if (screening == null) return;
  const names = new Set<string>(Object.keys(DETECTORS));
  let left = MOST_STEPS;
  for (const [index, { name, regex }] of (screening.patterns ?? []).entries()) {
    const at = `policies.screening.patterns[${index}]`;
    if (names.has(name))
      throw invalid(`The name of the pattern ${index + 1} is a detector's, or taken twice.`, `${at}.name`);
    names.add(name);
    const problem = regexProblem(regex, left);
    if (problem !== null) {
      throw invalid(
        `The regular expression of the pattern "${name}" cannot be used: ${problem}. Use RE2 syntax, which has no look-around and no back-references.`,
        `${at}.regex`,
      );
    }
    left -= regexSize(regex);
  }
  for (const [index, exception] of (screening.exceptions ?? []).entries()) {
    const at = `policies.screening.exceptions[${index}]`;
    const { detector, equals, ends_with: ending } = exception;
    if (!names.has(detector)) {
      throw invalid(`Exception ${index + 1} names no detector and no pattern of these policies.`, `${at}.detector`);
    }
    if ((equals === undefined) === (ending === undefined)) {
      throw invalid(`Exception ${index + 1} needs "equals" or "ends_with", and not both.`, `${at}.equals`);
    }
  }
}
