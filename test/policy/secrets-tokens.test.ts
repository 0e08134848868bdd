/** Every row of the token table finds a token made for it, alone and in a line of settings. */
import { expect, test } from "bun:test";
import { decide } from "../../src/policy/decide.ts";
import { policiesOf } from "../../src/policy/policies.ts";
import { tokenRows } from "../../src/policy/secrets/token-format.ts";
import { sampleBody } from "./samples.ts";

const blocked = (text: string) =>
  !decide(policiesOf({ policies: { block_secrets: true } }), { key: "k", value: text, metadata: {} }).allowed;

for (const [index, [provider, prefix, body]] of tokenRows().entries()) {
  test(`${provider} ${prefix}`, () => {
    const sample = sampleBody(body, index + 1);
    expect(blocked(prefix + sample)).toBe(true);
    expect(blocked(`deploy: use ${prefix}${sample} for now`)).toBe(true);
    expect(blocked(`x="${prefix}${sample}"`)).toBe(true);
    // Filled in by hand, or truncated: no key.
    expect(blocked(`see ${prefix}${"x".repeat(sample.length)}`)).toBe(false);
    expect(blocked(`see ${prefix}`)).toBe(false);
  });
}

test("prefixes are distinguished from words that contain them", () => {
  expect(blocked("the task-force-of-the-year and risk-averse-investors-unite-again")).toBe(false);
  expect(blocked("chf_transfer_of_all_the_funds_to_zurich")).toBe(false);
});
