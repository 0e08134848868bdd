/** Which claims fit the patterns of a rule. */
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { type ClaimPatterns, fitsClaims } from "../../src/oidc/workload-rules.ts";

describe("a pattern", () => {
  const cases: [pattern: string, fitting: string[], others: string[]][] = [
    ["repo:acme/app", ["repo:acme/app"], ["repo:acme/app2", "repo:acme/ap", "Repo:acme/app", ""]],
    ["repo:acme/*", ["repo:acme/", "repo:acme/app:ref:refs/heads/main"], ["repo:acmes/app", "xrepo:acme/app"]],
    ["*:main", [":main", "a:b:main"], ["main", "a:main:b"]],
    ["a*b*c", ["abc", "a-b-c", "abbcc", "a*b*c"], ["ac", "acb", "ab", "bc"]],
    ["ab*bc", ["abbc", "ab-bc"], ["abc"]],
    ["*", ["", "anything\n"], []],
    ["a**b", ["ab", "a-b"], ["a", "b"]],
    ["a.c", ["a.c"], ["abc"]],
    ["*a*a*", ["aa", "banana"], ["a", "bab"]],
  ];
  test.each(cases)("%s", (pattern, fitting, others) => {
    const fits = (sub: string) => fitsClaims({ sub: pattern }, { sub });
    expect(fitting.filter((text) => !fits(text))).toEqual([]);
    expect(others.filter(fits)).toEqual([]);
  });

  test("ends, however many ways there are to fit", () => {
    expect(fitsClaims({ sub: `${"*a".repeat(500)}*b` }, { sub: "a".repeat(100_000) })).toBe(false);
  });
});

describe("claims", () => {
  const cases: [patterns: ClaimPatterns, claims: JsonObject, fits: boolean][] = [
    [{ sub: "a", env: "prod" }, { sub: "a", env: "prod" }, true],
    [{ sub: "a", env: "prod" }, { sub: "a", env: "test" }, false],
    [{ sub: "a", env: "*" }, { sub: "a" }, false],
    [{ env: ["prod", "test-*"] }, { env: "test-1" }, true],
    [{ env: ["prod", "test-*"] }, { env: "other" }, false],
    [{ groups: "ops" }, { groups: ["dev", "ops"] }, true],
    [{ groups: "ops" }, { groups: [] }, false],
    [{ run: "7", ok: "true" }, { run: 7, ok: true }, true],
    [{ "kubernetes.io": { namespace: "prod" } }, { "kubernetes.io": { namespace: "prod", pod: {} } }, true],
    [{ "kubernetes.io": { namespace: "prod" } }, { "kubernetes.io": "prod" }, false],
    [{ a: "*" }, { a: null }, false],
    [{ a: "*" }, { a: { b: "c" } }, false],
    [{ toString: "*" }, {}, false],
  ];
  test.each(cases)("%j of %j: %p", (patterns, claims, fits) => {
    expect(fitsClaims(patterns, claims)).toBe(fits);
  });
});
