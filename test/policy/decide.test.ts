import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { decide } from "../../src/screen/decide.ts";
import { NO_POLICIES, policiesOf } from "../../src/screen/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const NONE = NO_POLICIES;
const SECRETS = policiesOf({ policies: { block_secrets: true } });
const write = (value: string, key = "note/1", metadata: JsonObject = {}) => ({ key, value, metadata });
/** Put together here so that no scanner takes this file for a leak. */
const GITHUB_TOKEN = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;

test("without policies everything is allowed", () => {
  expect(decide(NONE, write("mail anna.berg@posteo.de"))).toEqual({ allowed: true });
});

test("a finding says kind and place in UTF-16 code units, and the message never repeats the text", () => {
  const decision = decide(BOTH, write("🙂 write to anna.berg@posteo.de now"));
  if (decision.allowed) throw new Error("allowed");
  expect(decision.blockedBy).toBe("policy:block_pii");
  expect(decision.findings).toEqual([
    { policy: "block_pii", detector: "email", tier: 1, field: "value", start: 12, end: 31, mode: "block" },
  ]);
  expect(decision.message).toContain("an email address in the value");
  expect(JSON.stringify(decision)).not.toContain("anna");
});

test("secrets come first when both match, and the findings name both", () => {
  const decision = decide(BOTH, write(`anna.berg@posteo.de ${GITHUB_TOKEN}`));
  if (decision.allowed) throw new Error("allowed");
  expect(decision.blockedBy).toBe("policy:block_secrets");
  expect(decision.findings.map((one) => one.policy).sort()).toEqual(["block_pii", "block_secrets"]);
});

test("a policy that is off finds nothing", () => {
  const pii = decide(policiesOf({ policies: { block_pii: true } }), write(GITHUB_TOKEN));
  expect(pii).toEqual({ allowed: true });
  const secrets = decide(policiesOf({ policies: { block_secrets: true } }), write("anna.berg@posteo.de"));
  expect(secrets).toEqual({ allowed: true });
});

test("a name of metadata in which nothing was found is screened again as a value, and under other detectors", () => {
  const names = { "otto@posteo.de": "a", source: "b" };
  expect(decide(SECRETS, write("hello", "k", names)).allowed).toBe(true);
  expect(decide(SECRETS, write("hello", "k", names)).allowed).toBe(true);
  const other = decide(BOTH, write("hello", "k", names));
  expect(other).toMatchObject({ allowed: false, findings: [{ field: "metadata.*", detector: "email" }] });
  expect(decide(SECRETS, write("hello", "k", { "kX9#mPq2vL": "source" })).allowed).toBe(true);
  expect(decide(SECRETS, write("hello", "k", { password: "kX9#mPq2vL" })).allowed).toBe(false);
});

test("key, metadata values and metadata names are screened; a name that matched is written *", () => {
  const metadata = { contact: { "anna.berg@posteo.de": ["ok", "otto@posteo.de"] }, plain: "fine" };
  const decision = decide(BOTH, write("hello", "user/otto@posteo.de", metadata));
  if (decision.allowed) throw new Error("allowed");
  expect(decision.findings.map((one) => one.field)).toEqual(["key", "metadata.contact.*", "metadata.contact.*.1"]);
  expect(JSON.stringify(decision)).not.toContain("posteo");
});

test("names of metadata that are an address or a number only together are not repeated", () => {
  const found = (metadata: JsonObject, policies = BOTH) => {
    const decision = decide(policies, write("hello", "k", metadata));
    return decision.allowed ? [] : decision.findings.map(({ field }) => field);
  };
  const text = "otto@posteo.de";
  expect(found({ "anna.berg@posteo": { de: text } })).toEqual(["metadata.*"]);
  expect(found({ anna: { "berg@posteo": { de: [text, "fine"] } } })).toEqual(["metadata.*"]);
  expect(found({ "4111 1111": { "1111 1111": text } })).toEqual(["metadata.*"]);
  expect(found({ contact: { mail: [text] } })).toEqual(["metadata.contact.mail.0"]);
  // What is off may be named.
  const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  expect(found({ "anna.berg@posteo": { de: token } }, SECRETS)).toEqual(["metadata.anna.berg@posteo.de"]);
  // Names that would take long to screen are not repeated either.
  const long = found({ [`${"word ".repeat(6_000)}`]: { a: text, b: text } });
  expect(long.map((field) => field.length < 40_000)).toEqual([true, true]);
  expect(long.at(-1)).toBe("metadata.*");
});

const BLOCKED: readonly [string, string][] = [
  ["credit_card", "paid with 4111 1111 1111 1111"],
  ["iban", "to DE89 3704 0044 0532 0130 00 please"],
  ["us_ssn", "her SSN is 536-22-8734."],
  ["phone", "call +49 30 901820 today"],
  ["private_key", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow"],
  ["connection_string", "postgres://app:Wq8zRt5Lm@db.internal:5432/app"],
  ["provider_token", GITHUB_TOKEN],
];
for (const [detector, text] of BLOCKED) {
  test(`${detector} is found`, () => {
    const decision = decide(BOTH, write(text));
    expect(decision.allowed ? [] : decision.findings.map((one) => one.detector)).toContain(detector);
  });
}

const ALLOWED = [
  "order 4111 1111 1111 1112 shipped",
  "DE88 3704 0044 0532 0130 00 has a wrong check digit",
  "000-12-3456 was never issued",
  "-----BEGIN PUBLIC KEY-----",
  "postgres://localhost:5432/app",
  "git commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
];
for (const text of ALLOWED) {
  test(`harmless: ${text}`, () => expect(decide(BOTH, write(text))).toEqual({ allowed: true }));
}
