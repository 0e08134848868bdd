/** The list of operations against what must exist for each of its rows: a route, and tests. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  EVENT_NAMES,
  eventFacts,
  isComposite,
  OPERATIONS,
  type OperationName,
  partsOf,
  scopesOf,
} from "../src/operations.ts";
import { accountRoutes, routes } from "../src/serve/http/app.ts";

const NAMES = Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[];
const requested = NAMES.filter(
  (name): name is OperationName => "scopes" in OPERATIONS[name] || OPERATIONS[name].kind === "composite",
);
const ofKind = (kind: string) => EVENT_NAMES.filter((name) => eventFacts(name)?.kind === kind);

const SOURCES = readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(join(import.meta.dir, path), "utf8") }));

test("a composite operation consists of plain ones, and some key may request all of them", () => {
  for (const name of requested.filter(isComposite)) {
    expect(new Set(partsOf(name).map((part) => OPERATIONS[part].kind))).toEqual(new Set(["plain"]));
    expect(scopesOf(name)).not.toEqual([]);
  }
});

test("every operation that some key may request has a route", () => {
  const routed = new Set(routes.flatMap(({ operation, variant }) => [operation, variant?.operation]));
  const byKeys = requested.filter((name) => scopesOf(name).length > 0);
  expect(byKeys.filter((name) => !routed.has(name))).toEqual([]);
});

test("every recorded operation of a person that no key may request has a route of accounts that records it", () => {
  const recorded = new Set<string>(accountRoutes.flatMap(({ recordedAs }) => recordedAs));
  const byPeople = requested.filter((name) => scopesOf(name).length === 0 && eventFacts(name)?.actors.includes("u"));
  expect(byPeople).toContain("account.sign_in");
  expect(byPeople.filter((name) => !recorded.has(name))).toEqual([]);
});

test("every operation that is recorded is carried out in a scenario", () => {
  const scenarios = SOURCES.filter(({ path }) => /^(scenarios|account|keys)\//.test(path));
  const isCovered = (name: string) => {
    const line = new RegExp(
      `["\`][^"\`\n]+ ${name.replace(".", "\\.")} (ok|allowed)["\`]|operation: "${name.replace(".", "\\.")}"`,
    );
    return scenarios.some(({ text }) => line.test(text));
  };
  const recorded = requested.filter((name) => eventFacts(name) !== undefined);
  expect(recorded.filter((name) => !isCovered(name))).toEqual([]);
});

test("every event that the daemon or the command line records is looked for in a test", () => {
  const isCovered = (name: string) =>
    SOURCES.some(({ path, text }) => path.endsWith(".test.ts") && text.includes(name));
  expect(ofKind("upkeep").filter((name) => !isCovered(name))).toEqual([]);
});
