/** The policies in force for an agent, and where each part is from. */
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { inForce } from "../../src/screen/effective.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { NO_WORKSPACE_POLICIES, workspacePoliciesOf } from "../../src/screen/workspace-policies.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const under = (floor: JsonObject, config: JsonObject, more: JsonObject = {}) =>
  inForce(workspacePoliciesOf(1, { policies: floor, ...more }), policiesOf({ policies: config }), NOW);

/** What is in force when nobody sets it. */
const DEFAULT = { policies: { history_days: 30 }, from: { history_days: "default" } } as const;

const PUBLIC = { detector: "email", equals: "support@contoso.com", reason: "public" };
const OTHER = { detector: "email", ends_with: "@example.com", reason: "ours" };
const pattern = (name: string, mode: string) => ({ name, regex: "\\bPRJ-[0-9]{5}\\b", mode });

test("without a floor, everything is from the config", () => {
  const own = { block_pii: true, retention_days: 3, block_secrets: false };
  expect(inForce(NO_WORKSPACE_POLICIES, policiesOf({ policies: own }), 0)).toEqual({
    policies: { block_pii: true, retention_days: 3, ...DEFAULT.policies },
    from: { block_pii: "config", retention_days: "config", ...DEFAULT.from },
  });
  expect(inForce(NO_WORKSPACE_POLICIES, policiesOf({}), 0)).toEqual(DEFAULT);
});

test("the longer history of the two, 30 days when nobody sets it", () => {
  const days = (floor: JsonObject, config: JsonObject) => {
    const { policies, from } = under(floor, config);
    return [policies.history_days, from.history_days];
  };
  expect(days({}, {})).toEqual([30, "default"]);
  expect(days({}, { history_days: 0 })).toEqual([0, "config"]);
  expect(days({ history_days: 0 }, {})).toEqual([0, "floor"]);
  expect(days({ history_days: 7 }, { history_days: 3 })).toEqual([7, "floor"]);
  expect(days({ history_days: 7 }, { history_days: 90 })).toEqual([90, "config"]);
});

test("without a config, everything is from the floor", () => {
  const screening = { pii: { detectors: { email: "audit" } }, patterns: [pattern("p", "block")], exceptions: [PUBLIC] };
  expect(under({ retention_days: 3, screening }, {})).toEqual({
    policies: { retention_days: 3, screening, ...DEFAULT.policies },
    from: {
      ...DEFAULT.from,
      retention_days: "floor",
      "screening.pii.detectors.email": "floor",
      "screening.patterns[0]": "floor",
      "screening.exceptions[0]": "floor",
    },
  });
});

test("of each part the stricter one, and the floor's when they are equal", () => {
  expect(under({ retention_days: 30, block_pii: true }, { retention_days: 7, block_pii: true })).toEqual({
    policies: { block_pii: true, retention_days: 7, ...DEFAULT.policies },
    from: { block_pii: "floor", retention_days: "config", ...DEFAULT.from },
  });
});

test("modes of detectors", () => {
  const floor = { screening: { pii: { mode: "redact", detectors: { iban: "audit" } }, secrets: { mode: "audit" } } };
  const config = { screening: { pii: { mode: "audit", detectors: { email: "off", phone: "block", iban: "redact" } } } };
  const { policies, from } = under(floor, config);
  expect(policies).toEqual({
    screening: {
      pii: { mode: "redact", detectors: { iban: "redact", email: "redact", phone: "block" } },
      secrets: { mode: "audit" },
    },
    ...DEFAULT.policies,
  });
  expect(from).toEqual({
    ...DEFAULT.from,
    "screening.pii.mode": "floor",
    "screening.pii.detectors.iban": "config",
    "screening.pii.detectors.email": "floor",
    "screening.pii.detectors.phone": "config",
    "screening.secrets.mode": "floor",
  });
});

test("what is off is demanded by nobody", () => {
  const one = (name: string, mode: string) => ({ screening: { pii: { detectors: { [name]: mode } } } });
  expect(under(one("email", "audit"), one("iban", "block"))).toEqual({
    policies: { screening: { pii: { detectors: { email: "audit", iban: "block" } } }, ...DEFAULT.policies },
    from: { ...DEFAULT.from, "screening.pii.detectors.email": "floor", "screening.pii.detectors.iban": "config" },
  });
  const nothing = { pii: { mode: "off", detectors: { email: "off" } }, secrets: {}, patterns: [pattern("p", "off")] };
  for (const [floor, config] of [
    [{ screening: nothing }, {}],
    [{}, { screening: nothing, limits: {} }],
    [{ screening: nothing }, { screening: nothing, block_pii: false }],
  ] as [JsonObject, JsonObject][])
    expect(under(floor, config)).toEqual(DEFAULT);
  // Beside a mode of the kind, a detector that is off says something.
  const beside = { screening: { pii: { mode: "block", detectors: { email: "off" } } } };
  expect(under({}, beside)).toEqual({
    policies: { ...beside, ...DEFAULT.policies },
    from: { ...DEFAULT.from, "screening.pii.mode": "config", "screening.pii.detectors.email": "config" },
  });
});

test("patterns of both, each once", () => {
  const [a, b, c] = [pattern("a", "block"), pattern("b", "audit"), pattern("c", "redact")];
  const { policies, from } = under({ screening: { patterns: [a, b] } }, { screening: { patterns: [b, c] } });
  expect(policies.screening).toEqual({ patterns: [a, b, c] });
  expect(from).toEqual({
    ...DEFAULT.from,
    "screening.patterns[0]": "floor",
    "screening.patterns[1]": "floor",
    "screening.patterns[2]": "config",
  });
});

describe("exceptions are shown when they weaken something", () => {
  const exceptionsUnder = (floor: JsonObject, config: JsonObject, more: JsonObject = {}) => {
    const { policies, from } = under(floor, config, more);
    const { exceptions = [] } = (policies.screening ?? {}) as { exceptions?: JsonObject[] };
    return exceptions.map((one, index) => [one, from[`screening.exceptions[${index}]`]]);
  };
  const blocking = { block_pii: true };

  test.each<[name: string, floor: JsonObject, config: JsonObject, more: JsonObject, shown: unknown[]]>([
    [
      "not the config's, where the floor demands as much",
      blocking,
      { ...blocking, screening: { exceptions: [PUBLIC] } },
      {},
      [],
    ],
    [
      "the config's, where only the config demands it",
      { block_secrets: true },
      { ...blocking, screening: { exceptions: [PUBLIC] } },
      {},
      [[PUBLIC, "config"]],
    ],
    [
      "the config's, where the floor demands less",
      { screening: { pii: { mode: "audit" } } },
      { ...blocking, screening: { exceptions: [PUBLIC] } },
      {},
      [[PUBLIC, "config"]],
    ],
    [
      "the config's, where the floor lets it",
      blocking,
      { screening: { exceptions: [PUBLIC] } },
      { exceptions_from_agents: true },
      [[PUBLIC, "config"]],
    ],
    [
      "those of both",
      { ...blocking, screening: { exceptions: [PUBLIC] } },
      { ...blocking, screening: { exceptions: [PUBLIC] } },
      {},
      [[PUBLIC, "floor"]],
    ],
    [
      "not the floor's, where the config demands as much",
      { ...blocking, screening: { exceptions: [OTHER] } },
      { ...blocking, screening: { exceptions: [PUBLIC] } },
      {},
      [],
    ],
    [
      "those of a pattern",
      { screening: { patterns: [pattern("p", "block")] } },
      { screening: { patterns: [pattern("q", "block")], exceptions: [{ ...PUBLIC, detector: "q" }] } },
      {},
      [[{ ...PUBLIC, detector: "q" }, "config"]],
    ],
    [
      "different ones of both, by which the same text passes",
      { ...blocking, screening: { exceptions: [{ ...OTHER, ends_with: "@contoso.com" }] } },
      { ...blocking, screening: { exceptions: [PUBLIC, OTHER] } },
      {},
      [
        [{ ...OTHER, ends_with: "@contoso.com" }, "floor"],
        [PUBLIC, "config"],
      ],
    ],
    [
      "not different ones for other keys",
      { ...blocking, screening: { exceptions: [{ ...PUBLIC, prefixes: ["a/"] }] } },
      { ...blocking, screening: { exceptions: [{ ...PUBLIC, prefixes: ["b/"] }] } },
      {},
      [],
    ],
    [
      "none that has ended",
      { ...blocking, screening: { exceptions: [{ ...PUBLIC, expires_at: "2020-01-01T00:00:00Z" }] } },
      { screening: { exceptions: [{ ...OTHER, expires_at: "2020-01-01T00:00:00Z" }] } },
      { exceptions_from_agents: true },
      [],
    ],
  ])("%s", (_name, floor, config, more, shown) => {
    expect(exceptionsUnder(floor, config, more)).toEqual(shown as never);
  });
});
