/** Every row of the token table finds a token made for it, alone and in a line of settings. */
import { expect, test } from "bun:test";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { tokenRows } from "../../src/screen/secrets/token-format.ts";
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

test.each([
  ["before it, with nothing behind", "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"],
  ["before it alone", `${"7c0e9a1d4b".repeat(3)}5f2b8eNRAL`],
  ["on both sides", `${"Kq7Rw2Lm9Tc4Vb8".repeat(5)}xAZDOa1B2`],
])("a token with a fixed part at its end is found by what stands %s", (_where, token) => {
  expect(blocked(token)).toBe(true);
  expect(blocked(`key: ${token}`)).toBe(true);
  expect(blocked(`${token}x`)).toBe(false);
});

test("prefixes are distinguished from words that contain them", () => {
  expect(blocked("the task-force-of-the-year and risk-averse-investors-unite-again")).toBe(false);
  expect(blocked("chf_transfer_of_all_the_funds_to_zurich")).toBe(false);
});
