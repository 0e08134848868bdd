/** One change is one problem: what the checks find is put together to causes. */

import { expect, test } from "bun:test";
import { causesOf } from "../../src/verify/causes.ts";
import type { ProblemCode } from "../../src/verify/codes.ts";
import type { Problem } from "../../src/verify/problems.ts";

const at = (code: ProblemCode, seq: number | null, more: Partial<Problem> = {}): Problem => ({
  ...{ code, seq, id: null, message: code, agentId: "alpha" },
  ...more,
});
const entry = (code: ProblemCode, key: string, names: number[], agentId = "alpha"): Problem =>
  at(code, names[0] ?? null, { agentId, row: { table: "entries", key, names } });
const whole = (code: ProblemCode, table: string, agentId = "alpha"): Problem =>
  at(code, 0, { agentId, row: { table, key: null, whole: true } });
const tiles = at("row_mismatch", 0, { row: { table: "tiles", key: null, whole: true } });

/** The causes in short: code, position, number of consequences. */
const short = (...problems: Problem[]) =>
  causesOf(problems).map(({ problem: { code, seq }, consequences }) => {
    const count = [...consequences.values()].reduce((sum, more) => sum + more, 0);
    return `${code}@${seq}+${count}`;
  });

test("an edited event explains the next link, the tree, later seals and the rows that name it", () => {
  const edited = at("hash_mismatch", 3);
  const consequences = [
    at("link_broken", 7, { since: 3 }),
    tiles,
    at("root_mismatch", 9),
    at("anchor_mismatch", 4),
    entry("content_orphan", "a", [3]),
    whole("content_changed", "entries"),
  ];
  expect(short(...consequences, edited)).toEqual(["hash_mismatch@3+6"]);
});

test("a gap explains every link over it, and rows that name a missing event", () => {
  const gap = at("seq_gap", 9, { since: 5, agentId: "beta" });
  const links = [at("agent_seq_gap", 12, { since: 4 }), at("link_broken", 9, { since: 4, agentId: "beta" })];
  expect(short(gap, ...links, entry("content_orphan", "a", [6]), at("head_mismatch", 12))).toEqual(["seq_gap@9+4"]);
});

test("a restore with another key follows from the details of an event that may have named it", () => {
  const named = (operation: string) =>
    at("details_mismatch", 5, { event: { agent_id: null, agent_seq: 2, operation, timestamp: "" }, agentId: null });
  const restore = at("restore_invalid", 9, { agentId: null });
  expect(short(named("seal.rotate_key"), restore)).toEqual(["details_mismatch@5+1"]);
  expect(short(named("log.restore"), restore)).toEqual(["details_mismatch@5+1"]);
  expect(short(named("key.create"), restore)).toEqual(["details_mismatch@5+0", "restore_invalid@9+0"]);
});

test("rows that name a position without its event follow from what took the event away", () => {
  // An event of another log is in the place of event 7.
  const foreign = at("wrong_workspace", 2, { agentId: "gamma" });
  const gap = at("seq_gap", 8, { since: 7 });
  expect(short(foreign, gap, entry("content_mismatch", "a", [7]), entry("content_mismatch", "b", [8]))).toEqual([
    "wrong_workspace@2+2",
    "content_mismatch@8+0",
  ]);
  // The end is missing, too.
  const [hole, beyond] = [at("seq_gap", 4, { since: 1 }), at("seal_beyond_log", 9)];
  expect(short(hole, at("head_mismatch", 12), beyond, entry("content_orphan", "a", [12], "beta"))).toEqual([
    "seq_gap@4+3",
  ]);
});

test("the workspace's policies explain what is wrong with the entries of any agent, and a config only those of its own", () => {
  const config = (agentId: string | null) =>
    at("content_mismatch", 2, { agentId, row: { table: "configs", key: "v1", names: [2] } });
  const missing = at("content_missing", 0, { agentId: null, row: { table: "configs", key: null, whole: true } });
  const [alpha, beta] = ["alpha", "beta"].map((agent) => whole("content_changed", "entries", agent)) as [
    Problem,
    Problem,
  ];
  expect(short(config(null), alpha, beta)).toEqual(["content_mismatch@2+2"]);
  expect(short(missing, alpha, beta)).toEqual(["content_missing@0+2"]);
  expect(short(config("alpha"), alpha, beta)).toEqual(["content_mismatch@2+1", "content_changed@0+0"]);
});

test("what is found elsewhere is a cause of its own", () => {
  expect(short(at("hash_mismatch", 3), at("hash_mismatch", 4), entry("content_mismatch", "a", [8]))).toEqual([
    "hash_mismatch@3+0",
    "hash_mismatch@4+0",
    "content_mismatch@8+0",
  ]);
  // An edit after the seal does not explain the seal.
  expect(short(at("hash_mismatch", 30), at("root_mismatch", 9))).toEqual(["hash_mismatch@30+0", "root_mismatch@9+0"]);
});

test("details explain neither the tree nor the rows of another agent", () => {
  const details = at("details_mismatch", 3);
  expect(short(details, at("root_mismatch", 9))).toEqual(["details_mismatch@3+0", "root_mismatch@9+0"]);
  expect(short(details, whole("content_changed", "entries"))).toEqual(["details_mismatch@3+1"]);
  expect(short(details, whole("content_changed", "entries", "beta"))).toHaveLength(2);
});

test("a rewritten log is one problem, whatever compares it", () => {
  expect(short(at("root_mismatch", 5), at("root_mismatch", 9), at("anchor_mismatch", 4), tiles)).toEqual([
    "anchor_mismatch@4+3",
  ]);
});

test("wrong rows of one table are one problem, with their number and the first keys", () => {
  const rows = Array.from({ length: 9 }, (_, index) =>
    entry("content_mismatch", `k${index}`, [index], `agent-${index}`),
  );
  const [cause, ...others] = causesOf([...rows, whole("content_changed", "entries", "agent-0")]);
  expect(others).toEqual([]);
  expect([cause?.rows.size, cause?.keys, [...(cause?.consequences ?? [])]]).toEqual([
    9,
    ["k0", "k1", "k2", "k3", "k4"],
    [["content_changed", 1]],
  ]);
});

test("rows beyond an end that was cut off follow from it", () => {
  expect(short(at("head_mismatch", 20), entry("content_orphan", "a", [25]))).toEqual(["head_mismatch@20+1"]);
  expect(short(at("head_mismatch", 20), entry("content_orphan", "a", [15]))).toHaveLength(2);
});

test("an index follows from the rows of its table, or stands alone", () => {
  const index = at("schema_mismatch", null, { row: { table: "events", key: null } });
  expect(short(index, at("hash_mismatch", 3))).toEqual(["hash_mismatch@3+1"]);
  expect(short(index, whole("content_changed", "entries"))).toEqual(["schema_mismatch@null+1"]);
});

test("a row that events state follows from an event that is gone, or from the log as a whole", () => {
  const sink = (code: ProblemCode, seq: number | null) =>
    at(code, seq, { agentId: null, row: { table: "sinks", key: "snk", names: seq === null ? [] : [seq] } });
  expect(short(at("seq_gap", 9, { since: 8 }), sink("row_changed", 5))).toEqual(["seq_gap@9+1"]);
  expect(short(at("head_mismatch", null), sink("row_added", null))).toEqual(["head_mismatch@null+1"]);
  expect(short(at("seal_beyond_log", 9), sink("row_added", null))).toEqual(["seal_beyond_log@9+1"]);
  // What stands beside an event, or beside the log, states no other row.
  expect(short(at("details_mismatch", 3), sink("row_changed", 5))).toEqual(["details_mismatch@3+0", "row_changed@5+0"]);
  expect(short(entry("content_mismatch", "a", [8]), sink("row_changed", 5))).toHaveLength(2);
});
