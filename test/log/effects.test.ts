/** What a recorded event says of its effect on stored rows. */
import { expect, test } from "bun:test";
import { AUDIT_RESULTS } from "../../src/details.ts";
import type { JsonObject } from "../../src/json.ts";
import { effectKind, type RecordedEffect, recordedEffect } from "../../src/log/effects.ts";
import type { AuditResult } from "../../src/log/event.ts";
import { EVENT_NAMES, namesWithEffect } from "../../src/operations.ts";

const config = { version: "v2", digest: "ab", rolledBackFrom: null };

const EXAMPLES: readonly [operation: string, details: JsonObject, effect: RecordedEffect][] = [
  ["data.write", { key: "k", value_digest: "ab" }, { kind: "put", key: "k", digest: "ab", expiresAtMs: null }],
  [
    "data.write",
    { key: "k", value_digest: "ab", expires_at: "2026-01-31T08:00:00.000Z" },
    { kind: "put", key: "k", digest: "ab", expiresAtMs: Date.UTC(2026, 0, 31, 8) },
  ],
  ["data.delete", { key: "k", count: 1 }, { kind: "end", key: "k" }],
  ["data.delete_prefix", { prefix: "p", count: 2 }, { kind: "end_prefix", prefix: "p", count: 2 }],
  ["quarantine.set", { reason: "r", versions: [4, 7] }, { kind: "set_aside", versions: [4, 7] }],
  ["quarantine.release", { reason: "r", versions: [7] }, { kind: "release", versions: [7] }],
  ["data.expire", { count: 3, through: 7 }, { kind: "expire", count: 3, through: 7 }],
  [
    "data.erase",
    {
      entries: 1,
      versions: 2,
      events: 3,
      erased: [
        [1, 2],
        [4, 4],
      ],
    },
    {
      kind: "erase",
      entries: 1,
      versions: 2,
      events: 3,
      erased: [
        [1, 2],
        [4, 4],
      ],
      version: null,
    },
  ],
  [
    "data.erase",
    { entries: 0, versions: 1, events: 1, erased: [[4, 4]], version: { seq: 4, key_of: 2, expires_at: null } },
    {
      kind: "erase",
      ...{ entries: 0, versions: 1, events: 1, erased: [[4, 4]] },
      version: { seq: 4, keyOf: 2, expiresAtMs: null },
    },
  ],
  ["config.update", { version: "v2", config_digest: "ab" }, { kind: "add_config", ...config }],
  [
    "config.rollback",
    { version: "v3", config_digest: "ab", rolled_back_from: "v1" },
    { kind: "add_config", version: "v3", digest: "ab", rolledBackFrom: "v1" },
  ],
  ["policies.update", { version: "p2", config_digest: "ab" }, { kind: "add_config", ...config, version: "p2" }],
  [
    "checkpoint.create",
    { checkpoint_id: "cp", as_of_seq: 4, entry_count: 1, label: null, metadata: { a: 1 } },
    { kind: "add_checkpoint", id: "cp", asOfSeq: 4, entryCount: 1, label: null, metadata: { a: 1 } },
  ],
  ["checkpoint.delete", { checkpoint_id: "cp" }, { kind: "remove_checkpoint", id: "cp" }],
  [
    "checkpoint.restore",
    {
      checkpoint_id: "cp",
      safety_checkpoint_id: "safe",
      safety_entry_count: 5,
      entries_restored: 1,
      entries_removed: 2,
      entries_unchanged: 3,
      config_version: "v2",
      config_digest: "ab",
    },
    { kind: "restore", checkpointId: "cp", safety: { id: "safe", entryCount: 5 }, config, restored: 1, removed: 2 },
  ],
  ["agent.suspend", { reason: "why" }, { kind: "suspend", reason: "why" }],
  ["agent.resume", { reason: null }, { kind: "resume", reason: null }],
  ["installation.heads", { count: 2, root: "ab" }, { kind: "heads", count: 2, root: "ab" }],
  ["audit.prune", { before_seq: 256, events: 200 }, { kind: "prune", beforeSeq: 256, events: 200 }],
];

const resultOf = (operation: string): AuditResult => (operation === "data.write" ? "allowed" : "ok");

test.each(EXAMPLES)("%s", (operation, details, effect) => {
  const event = { operation, result: resultOf(operation) };
  expect(recordedEffect(event, details)).toEqual(effect);
  if (effect.kind === "none" || effect.kind === "unknown") throw new Error("no example of an effect");
  const unknown: RecordedEffect = { kind: "unknown", of: effect.kind };
  expect(recordedEffect(event, null)).toEqual(unknown);
  expect(recordedEffect(event, {})).toEqual(unknown);
  for (const member of Object.keys(details)) {
    const malformed = recordedEffect(event, { ...details, [member]: [] });
    // Members that say nothing of rows may have any form.
    expect<RecordedEffect[]>([effect, unknown]).toContainEqual(malformed);
  }
  for (const result of AUDIT_RESULTS.filter((one) => one !== event.result)) {
    expect(recordedEffect({ operation, result }, details)).toEqual({ kind: "none" });
  }
});

test("what an event did to rows is known as long as its details are", () => {
  for (const operation of namesWithEffect("rows")) {
    expect(recordedEffect({ operation, result: "ok" }, {})).toEqual({ kind: "rows", account: null, erased: [] });
    expect(recordedEffect({ operation, result: "ok" }, null)).toEqual({ kind: "unknown", of: "rows" });
    for (const result of AUDIT_RESULTS.filter((one) => one !== "ok")) {
      expect(recordedEffect({ operation, result }, {})).toEqual({ kind: "none" });
    }
  }
});

test("every operation that has an effect is among the examples", () => {
  const examples = new Set(EXAMPLES.map(([operation]) => operation));
  const withEffect: string[] = EVENT_NAMES.filter((operation) => effectKind(operation, resultOf(operation)) !== "none");
  // `row-effects.ts` reads what these did to rows.
  const rows: string[] = namesWithEffect("rows");
  const changes = ["change", "create", "remove", "rotate"].map((name) => `sink.${name}`);
  const ofKeys = ["change", "create", "revoke", "rotate"].map((name) => `key.${name}`);
  const ofMembers = ["change", "invite", "join", "remove", "uninvite"].map((name) => `member.${name}`);
  const ofWorkspace = ["change", "create"].map((name) => `workspace.${name}`);
  const ofAccounts: string[] = EVENT_NAMES.filter((name) => name.startsWith("account."));
  const ofInstallation = ["add_workspace", "delete_workspace"].map((name) => `installation.${name}`);
  const all = [...ofAccounts, ...ofInstallation, ...ofKeys, ...ofMembers, ...changes, ...ofWorkspace, "workload.begin"];
  expect(rows.toSorted()).toEqual(all.toSorted());
  expect(withEffect.toSorted()).toEqual([...examples, ...rows].sort());
  expect(namesWithEffect("add_config").toSorted()).toEqual(["config.rollback", "config.update", "policies.update"]);
});
