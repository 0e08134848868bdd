import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { type Content, type Decision, decide, decideAsItIs, findingsOf } from "../../src/screen/decide.ts";
import { DETECTORS, type DetectorName } from "../../src/screen/detectors.ts";
import { MODES, type Mode } from "../../src/screen/modes.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import type { ScreeningSetting } from "../../src/screen/screening.ts";
import { effectivePolicies, workspacePoliciesOf } from "../../src/screen/workspace-policies.ts";
import { Seeded } from "../seeded.ts";

const screening = (setting: ScreeningSetting, more: JsonObject = {}) =>
  policiesOf({ policies: { ...more, screening: setting as JsonObject } });
const write = (value: string, key = "note/1", metadata: JsonObject = {}): Content => ({ key, value, metadata });

/** What is stored of a value; null when it is blocked. */
function stored(setting: ScreeningSetting, content: Content, more: JsonObject = {}): string | null {
  const decision = decide(screening(setting, more), content, 0);
  if (!decision.allowed) return null;
  return (decision.found?.redacted ?? content).value;
}

const MAIL = "anna.berg@posteo.de";
const IBAN = "DE89 3704 0044 0532 0130 00";

describe("modes", () => {
  const text = `mail ${MAIL}, pay ${IBAN} now`;

  test.each([
    ["off", text],
    ["audit", text],
    ["redact", "mail [redacted:email], pay [redacted:iban] now"],
    ["block", null],
  ] as const)("%s", (mode, expected) => {
    expect(stored({ pii: { mode } }, write(text))).toBe(expected);
  });

  test("a detector has its own mode, and the default is off", () => {
    const setting: ScreeningSetting = { pii: { detectors: { email: "redact" } } };
    expect(stored(setting, write(text))).toBe(`mail [redacted:email], pay ${IBAN} now`);
    expect(stored({ pii: { mode: "redact", detectors: { iban: "off" } } }, write(text))).toBe(
      `mail [redacted:email], pay ${IBAN} now`,
    );
    expect(stored({ pii: { mode: "redact", detectors: { iban: "block" } } }, write(text))).toBeNull();
    // Also where a label says that it is an account.
    for (const labelled of [`IBAN: ${IBAN}`, `my bank account is ${IBAN}.`, `${IBAN} is my IBAN`]) {
      for (const mode of ["off", "audit"] as const)
        expect(stored({ pii: { mode: "redact", detectors: { iban: mode } } }, write(labelled))).toBe(labelled);
      const without = labelled.replace(IBAN, "[redacted:iban]");
      expect(stored({ pii: { detectors: { iban: "redact" } } }, write(labelled))).toBe(without);
    }
  });

  test("a policy that blocks overrides a weaker mode", () => {
    const decision = decide(screening({ pii: { mode: "audit" } }, { block_pii: true }), write(text), 0);
    expect(decision).toMatchObject({ allowed: false, blockedBy: "policy:block_pii" });
  });

  test("findings say the mode, in offsets of the text as sent", () => {
    const decision = decide(screening({ pii: { mode: "redact", detectors: { iban: "audit" } } }), write(text), 0);
    expect(decision).toEqual({
      allowed: true,
      found: {
        findings: [
          { policy: "block_pii", detector: "email", tier: 1, field: "value", start: 5, end: 24, mode: "redact" },
          { policy: "block_pii", detector: "iban", tier: 1, field: "value", start: 30, end: 57, mode: "audit" },
        ],
        redacted: { value: `mail [redacted:email], pay ${IBAN} now`, metadata: {} },
      },
    });
  });

  test("a detector that is off hides nothing, however often it would match", () => {
    const many = "call +49 30 901820. ".repeat(300);
    expect(stored({ pii: { detectors: { email: "block" } } }, write(many + MAIL))).toBeNull();
    expect(stored({ pii: { mode: "audit", detectors: { email: "block" } } }, write(many + MAIL))).toBeNull();
  });
});

describe("redaction", () => {
  const redact: ScreeningSetting = { pii: { mode: "redact" }, secrets: { mode: "redact" } };

  test("reaches strings and numbers in the metadata, and leaves the rest as it is", () => {
    const metadata = { a: [1, `to ${MAIL}`], card: 4111111111111111, b: { c: true, d: null }, n: 7 };
    const decision = decide(screening(redact), write("hello", "k", metadata), 0);
    expect(decision.allowed && decision.found?.redacted?.metadata).toEqual({
      a: [1, "to [redacted:email]"],
      card: "[redacted:credit_card]",
      b: { c: true, d: null },
      n: 7,
    });
  });

  test.each([
    ["a key", write("v", `user/${MAIL}`)],
    ["a name of the metadata", write("v", "k", { [MAIL]: 1 })],
    ["Base64", write(`see ${Buffer.from(`mail to ${MAIL} today`).toString("base64")}`)],
    ["the parts of an array", write("v", "k", { parts: ["anna", "@", "posteo.de"] })],
  ])("cannot replace %s, which blocks", (_, content) => {
    expect(decide(screening(redact), content, 0)).toMatchObject({ allowed: false, blockedBy: "policy:block_pii" });
  });

  test("nothing is found in what is stored, and it does not change again", () => {
    const seeded = new Seeded(18);
    const pieces = [
      MAIL,
      IBAN,
      "password: Wq8zRt5LmX",
      "4111 1111 1111 1111",
      "date of birth 6/24/1991",
      "+49 30 901820",
      "Authorization: Bearer abcdef0123456789abcdef",
      "12 Baker Street, London NW1 6XE",
      "[redacted:email]",
      "hello world",
      "SSN 536-22-8734",
    ];
    for (let i = 0; i < 400; i++) {
      const value = Array.from({ length: 1 + seeded.below(6) }, () => pieces[seeded.below(pieces.length)]).join(
        [" ", "\n", ", ", ""][seeded.below(4)],
      );
      const once = stored(redact, write(value));
      if (once === null) continue;
      const again = decide(screening(redact), write(once), 0);
      expect(again, value).toEqual({ allowed: true });
    }
  });

  test.each(Object.keys(DETECTORS))("the name of a replacement, %s, is no label of what stands behind it", (name) => {
    for (const behind of [
      " 12345678",
      ": 12345678",
      ", see prj-000166",
      " is 4711-0815",
      "; 3 May 1987",
      " AB123456",
    ]) {
      const text = `about [redacted:${name}]${behind}.`;
      expect(stored(redact, write(text))).toBe(text);
    }
    expect(stored(redact, write(`${IBAN}, see 12345678 and [redacted:${name}] ${MAIL}`))).toBe(
      `[redacted:iban], see 12345678 and [redacted:${name}] [redacted:email]`,
    );
  });

  test("a text that only looks like a replacement is screened", () => {
    expect(stored(redact, write("[redacted:4111111111111111]"))).not.toContain("4111111111111111");
    expect(stored(redact, write(`[redacted:email ${MAIL}]`))).not.toContain(MAIL);
  });

  test("what cannot be stored in another form is refused", () => {
    const policies = screening(redact);
    expect(decideAsItIs(policies, write(`to ${MAIL}`), 0)).toMatchObject({ blockedBy: "policy:block_pii" });
    const reported = { findings: [{ detector: "email", mode: "audit" }] };
    const auditing = screening({ pii: { mode: "audit" } });
    expect(decideAsItIs(auditing, write(`to ${MAIL}`), 0)).toMatchObject({ allowed: true, found: reported });
    expect(decideAsItIs(auditing, write("to nobody"), 0)).toEqual({ allowed: true });
  });

  test("thousands of matches are replaced or the write is refused, never stored", () => {
    const value = `${MAIL} `.repeat(3000);
    const once = stored(redact, write(value));
    if (once !== null) expect(once).not.toContain(MAIL);
  });
});

describe("patterns", () => {
  const code = { name: "project_code", regex: "\\bPRJ-[0-9]{5}\\b", mode: "redact" as const };

  test("are found in every field, with their name as the detector", () => {
    const decision = decide(screening({ patterns: [code] }), write("see PRJ-12345", "k", { a: "PRJ-00001" }), 0);
    expect(decision.allowed && decision.found).toMatchObject({
      findings: [
        { policy: "patterns", detector: "project_code", field: "value", start: 4, end: 13, mode: "redact" },
        { policy: "patterns", detector: "project_code", field: "metadata.a" },
      ],
      redacted: { value: "see [redacted:project_code]", metadata: { a: "[redacted:project_code]" } },
    });
  });

  test("block by their own name, ignore case when asked, and apply to their prefixes only", () => {
    const blocking = { ...code, mode: "block" as const };
    expect(decide(screening({ patterns: [blocking] }), write("PRJ-12345"), 0)).toMatchObject({
      allowed: false,
      blockedBy: "policy:patterns",
      message: expect.stringContaining("project_code"),
    });
    expect(stored({ patterns: [blocking] }, write("prj-12345"))).toBe("prj-12345");
    expect(stored({ patterns: [{ ...blocking, ignore_case: true }] }, write("prj-12345"))).toBeNull();
    const limited = { ...blocking, prefixes: ["notes/", "mail/"] };
    expect(stored({ patterns: [limited] }, write("PRJ-12345", "other/1"))).toBe("PRJ-12345");
    expect(stored({ patterns: [limited] }, write("PRJ-12345", "mail/1"))).toBeNull();
  });

  test("secrets come before personal data, and both before patterns", () => {
    const all: ScreeningSetting = {
      pii: { mode: "block" },
      secrets: { mode: "block" },
      patterns: [{ ...code, mode: "block" }],
    };
    const by = (text: string) => {
      const decision = decide(screening(all), write(text), 0);
      return decision.allowed ? null : decision.blockedBy;
    };
    const secret = "password: Wq8zRt5LmX";
    expect(by(`${MAIL} ${secret} PRJ-12345`)).toBe("policy:block_secrets");
    expect(by(`${MAIL} PRJ-12345`)).toBe("policy:block_pii");
    expect(by("PRJ-12345")).toBe("policy:patterns");
  });

  test("overlapping matches are one place, named after the strongest mode, then the first", () => {
    const setting: ScreeningSetting = {
      pii: { mode: "audit" },
      patterns: [
        { name: "domain", regex: "posteo\\.de and", mode: "redact" },
        { name: "local", regex: "to anna", mode: "redact" },
      ],
    };
    expect(stored(setting, write(`to ${MAIL} and more`))).toBe("[redacted:domain] more");
  });

  test.each([
    ["(a*)*b", true],
    ["([a-z]+)+x", true],
    ["(a|aa)+$", false],
    ["a.*z|a", false],
    ["a{1,100}", false],
    [".*", false],
  ])("%s ends on a hostile text, and what it matches is not stored", (regex, isStored) => {
    const text = "a".repeat(64 * 1024);
    const result = stored({ patterns: [{ name: "hostile", regex, mode: "redact" }] }, write(text));
    expect(result === text).toBe(isStored);
  });
});

describe("exceptions", () => {
  const block = { block_pii: true };
  const except = (more: object): ScreeningSetting => ({
    exceptions: [{ detector: "email", equals: MAIL, reason: "public", ...more }],
  });

  test("let a match pass, also where the policy blocks, and are counted", () => {
    const decision = decide(screening(except({}), block), write(`to ${MAIL} and ${MAIL}`), 0);
    expect(decision).toEqual({ allowed: true, found: { findings: [], excepted: { email: 2 } } });
    expect(stored(except({}), write("to otto@posteo.de"), block)).toBeNull();
    expect(stored(except({ equals: undefined, ends_with: "@posteo.de" }), write("otto@posteo.de"), block)).toBe(
      "otto@posteo.de",
    );
  });

  test("are limited to prefixes, and end", () => {
    expect(stored(except({ prefixes: ["public/"] }), write(MAIL, "public/1"), block)).toBe(MAIL);
    expect(stored(except({ prefixes: ["public/"] }), write(MAIL), block)).toBeNull();
    const ending = screening(except({ expires_at: "2027-03-01T00:00:00Z" }), block);
    const at = Date.parse("2027-03-01T00:00:00Z");
    expect(decide(ending, write(MAIL), at - 1).allowed).toBe(true);
    expect(decide(ending, write(MAIL), at).allowed).toBe(false);
    expect(decide(ending, write(MAIL))).toMatchObject({ allowed: true, validUntilMs: at });
  });
});

test("a pattern of the workspace and of the config is one match, which an exception lets pass or not", () => {
  const code = { name: "code", regex: "PRJ-[0-9]{5}" };
  const exception = { detector: "code", equals: "PRJ-12345", reason: "public" };
  const decided = (floor: Mode, own: Mode, isShared: boolean) => {
    const policies = effectivePolicies(
      workspacePoliciesOf(1, {
        policies: { screening: { patterns: [{ ...code, mode: floor }] } },
        exceptions_from_agents: isShared,
      }),
      screening({ patterns: [{ ...code, mode: own }], exceptions: [exception] }),
    );
    return decide(policies, write("see PRJ-12345"), 0);
  };
  const modes = (decision: Decision) => findingsOf(decision).map(({ mode }) => mode);
  expect(decided("audit", "audit", true)).toEqual({ allowed: true, found: { findings: [], excepted: { code: 1 } } });
  // The exception weakens the config's demand only.
  const weakened = decided("audit", "redact", false);
  expect([modes(weakened), weakened.allowed && weakened.found?.excepted]).toEqual([["audit"], { code: 1 }]);
  const asStrong = decided("redact", "redact", false);
  expect([modes(asStrong), asStrong.allowed && asStrong.found?.excepted]).toEqual([["redact"], undefined]);
});

/** Slow and simple: the mode of a detector under some settings. */
function expectedMode(
  setting: ScreeningSetting,
  blocks: boolean,
  detector: DetectorName,
  kind: "pii" | "secrets",
): Mode {
  return blocks ? "block" : (setting[kind]?.detectors?.[detector] ?? setting[kind]?.mode ?? "off");
}

test("in every combination of settings, the strongest mode of what is found decides", () => {
  const seeded = new Seeded(4);
  const samples = { email: MAIL, iban: IBAN, us_ssn: "SSN 536-22-8734" } as const;
  const mode = () => MODES[seeded.below(MODES.length)] as Mode;
  for (let i = 0; i < 300; i++) {
    const detectors = Object.fromEntries(
      Object.keys(samples).flatMap((name) => (seeded.below(2) ? [[name, mode()]] : [])),
    );
    const setting: ScreeningSetting = { pii: { ...(seeded.below(2) ? { mode: mode() } : {}), detectors } };
    const blocks = seeded.below(4) === 0;
    const names = (Object.keys(samples) as (keyof typeof samples)[]).filter(() => seeded.below(2));
    const value = names.map((name) => samples[name]).join("; then ");
    const modes = names.map((name) =>
      expectedMode(setting, blocks, name, DETECTORS[name].tier === null ? "secrets" : "pii"),
    );
    const result = stored(setting, write(value), blocks ? { block_pii: true } : {});
    if (modes.includes("block")) expect(result).toBeNull();
    else
      for (const [at, name] of names.entries())
        expect(result?.includes(`[redacted:${name}]`)).toBe(modes[at] === "redact");
  }
});
