/** The forms of details: docs/audit-format.md and tools/verify.py have the same table as the rows of operations. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Chain, describe as shown } from "../src/details.ts";
import type { AuditResult } from "../src/log/event.ts";
import { formProblem } from "../src/log/event.ts";
import { EVENT_NAMES, eventFacts } from "../src/operations.ts";
import { typeId } from "./log/sample.ts";

const CHAINS: Record<Chain, string> = { agent: "a", "agent or none": "n", own: "o", workspace: "w", installation: "i" };

const textOf = (path: string): string => readFileSync(join(import.meta.dir, "..", path), "utf8");

/** One line for each form of each operation. */
function stated(): string[] {
  return EVENT_NAMES.flatMap((name) => {
    const { actors, details } = eventFacts(name) as NonNullable<ReturnType<typeof eventFacts>>;
    return Object.entries(details).flatMap(([result, forms]) =>
      [forms].flat().map((form) => {
        const { chain, members, actors: own = actors } = form;
        return [name, own, result, CHAINS[chain], shown(members)].join(" | ");
      }),
    );
  }).sort();
}

test("the page has the forms of all operations, and no others", () => {
  const page = textOf("docs/audit-format.md");
  const rows = [
    ...page.matchAll(/^\| (`[a-z_]+\.[^|]+?) *\| ([kulcs ]+?) *\| ([a-z_]+) *\| ([anowi]) *\| `(.+)` *\|$/gm),
  ];
  const lines = rows.flatMap(([, names = "", actors = "", result, chain, members]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) =>
      [name, actors.replaceAll(" ", ""), result, chain, members].join(" | "),
    ),
  );
  expect(lines.sort()).toEqual(stated());
});

test("the second verifier has them, too", () => {
  const [, table = ""] = textOf("tools/verify.py").split('OPERATIONS = """\n');
  const lines = table
    .slice(0, table.indexOf('"""'))
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [names = "", ...rest] = line.split(" | ");
      return names.split(" ").map((name) => [name, ...rest].join(" | "));
    });
  expect(lines.sort()).toEqual(stated());
});

describe("an event", () => {
  const KEY = typeId("key", 1);
  const HASH = "ab".repeat(32);
  const write = {
    operation: "data.write",
    result: "allowed" as AuditResult,
    blocked_by: null,
    actor: KEY,
    agent_id: "a",
  };
  const details = { key: "k", value_digest: HASH };
  const WORKLOAD = { actor: typeId("wid", 1) };
  const ofWorkload = { ...details, workload: { issuer: "i", subject: "s" } };
  const PARTIES = [
    { iss: "i", sub: "s" },
    { iss: null, sub: "a" },
  ];
  const codeOf = (event: object, said: object = details) =>
    formProblem({ ...write, ...event }, said as never, null)?.code ?? null;

  test.each([
    ["as it is written", {}, details, null],
    ["with what the request stated", {}, { ...details, client: "c", policies_version: "p2" }, null],
    ["of an unknown operation", { operation: "data.invent" }, details, "operation_unknown"],
    ["with a result that its operation never has", { result: "ok" }, details, "result_impossible"],
    ["that a policy blocked, and that was stored", { blocked_by: "policy:block_pii" }, details, "result_impossible"],
    ["that no policy blocked", { result: "blocked" }, { key: "k", findings: [] }, "result_impossible"],
    ["of the daemon itself", { actor: "system" }, details, "actor_impossible"],
    ["in the workspace's own chain", { agent_id: null }, details, "chain_impossible"],
    ["without a member", {}, { key: "k" }, "details_invalid"],
    ["with an unknown member", {}, { ...details, other: 1 }, "details_invalid"],
    ["with a member of another type", {}, { ...details, value_digest: "no digest" }, "details_invalid"],
    ["with a time that is none", {}, { ...details, expires_at: "2026-02-30T00:00:00.000Z" }, "details_invalid"],
    ["with a key left out and nothing said", { operation: "data.read", result: "ok" }, {}, "details_invalid"],
    ["with a key left out, as it says", { operation: "data.read", result: "ok" }, { redacted: true }, null],
    [
      "with a key and a word that it was left out",
      { operation: "data.read", result: "ok" },
      { key: "k", redacted: true },
      "details_invalid",
    ],
    ["of a workload without its identity", { actor: typeId("wid", 1) }, details, "details_invalid"],
    ["of a workload", { actor: typeId("wid", 1) }, { ...details, workload: { issuer: "i", subject: "s" } }, null],
    [
      "of a key with a workload's identity",
      {},
      { ...details, workload: { issuer: "i", subject: "s" } },
      "details_invalid",
    ],
    ["with a session", {}, { ...details, session: "~".repeat(128) }, null],
    ["with a session that has a space", {}, { ...details, session: "a b" }, "details_invalid"],
    ["with too long a session", {}, { ...details, session: "~".repeat(129) }, "details_invalid"],
    ["of a key on somebody's behalf", {}, { ...details, on_behalf_of: PARTIES }, "details_invalid"],
    ["of a workload on somebody's behalf", WORKLOAD, { ...ofWorkload, on_behalf_of: PARTIES }, null],
    ["of a workload for itself", WORKLOAD, { ...ofWorkload, on_behalf_of: PARTIES.slice(1) }, "details_invalid"],
    [
      "on behalf of too many",
      WORKLOAD,
      { ...ofWorkload, on_behalf_of: [...PARTIES, ...PARTIES, ...PARTIES, ...PARTIES] },
      "details_invalid",
    ],
    [
      "about an agent without events",
      { operation: "data.list", result: "ok", agent_id: null },
      { agent_id: "b", prefix: "", count: 0 },
      null,
    ],
    [
      "about no agent",
      { operation: "data.list", result: "ok", agent_id: null },
      { prefix: "", count: 0 },
      "details_invalid",
    ],
  ])("%s", (_, event, said, code) => {
    expect(codeOf(event, said)).toBe(code as never);
  });
});
