/** Which rows of the control database a log leaves, where the log cannot tell all of it. */
import { expect, test } from "bun:test";
import type { RowChange } from "../../src/log/control-effects.ts";
import type { RestoredControl } from "../../src/log/restores.ts";
import type { ControlEvent, ControlLog } from "../../src/verify/control/events.ts";
import { expectedRows, type Lag, type RowState } from "../../src/verify/control/expected.ts";

const NOW: Lag = { backupCreatedAt: null, afterSeq: 100 };

function event(seq: number, operation: string, ...changes: RowChange[]): ControlEvent {
  const timestamp = `2026-01-01T00:00:0${seq}.000Z`;
  return {
    seq,
    agent_seq: seq + 1,
    id: `aud_${seq}`,
    operation,
    timestamp,
    actor: "cli",
    details: {},
    changes,
    restore: null,
  };
}

const key = (kind: RowChange["kind"], columns: RowChange["columns"]): RowChange => ({
  ...{ table: "api_keys", id: "key_1", kind, columns },
});
const created = event(1, "key.create", key("add", { scope: "agent", revoked_at: null }));
const revoked = event(2, "key.revoke", key("set", { revoked_at: 2_000 }));

function states(log: Partial<ControlLog>, lag: Lag = NOW) {
  const rows = expectedRows({ workspaceId: "ws_1", headSeq: 100, events: [], ...log }, lag);
  return rows.get("api_keys key_1")?.states;
}

test("a row has the state that its events leave", () => {
  expect(states({ events: [created, revoked] })).toEqual([{ scope: "agent", revoked_at: 2_000 }]);
});

test("a reset that ends the factors of an account removes its passkeys, and no others", () => {
  const added = (id: string, account: string) =>
    event(1, "account.add_passkey", { table: "passkeys", id, kind: "add", columns: { account_id: account } });
  const clear: RowChange = { table: "passkeys", id: "usr_1", kind: "clear", columns: {} };
  const events = [added("pky_1", "usr_1"), added("pky_2", "usr_2"), event(2, "account.reset_password", clear)];
  const rows = expectedRows({ workspaceId: "ws_1", headSeq: 100, events }, NOW);
  expect([...rows.values()].map(({ id, states: found }) => [id, found])).toEqual([
    ["pky_1", [null]],
    ["pky_2", [{ account_id: "usr_2" }]],
  ]);
});

test("an event after the copy of a backup, or after the reading began, may be missing", () => {
  const both: RowState[] = [
    { scope: "agent", revoked_at: null },
    { scope: "agent", revoked_at: 2_000 },
  ];
  const events = [created, revoked];
  expect(states({ events }, { backupCreatedAt: "2026-01-01T00:00:01.500Z", afterSeq: 100 })).toEqual(both);
  expect(states({ events }, { backupCreatedAt: null, afterSeq: 1 })).toEqual(both);
  expect(states({ events: [created] }, { backupCreatedAt: null, afterSeq: 0 })).toEqual([null, both[0] as RowState]);
});

const restoreOf = (control: RestoredControl): ControlEvent => {
  const of = {
    headSeq: 2,
    headHash: null,
    backupCreatedAt: "2026-01-01T00:00:01.500Z",
    backupDigest: null,
    control,
    epoch: "malformed" as const,
  };
  const { seq, timestamp, ...rest } = event(3, "log.restore");
  return { ...rest, seq, timestamp, restore: { seq, timestamp, ...of } };
};

test("after a restore that reapplied the log, no event before it may be missing", () => {
  const restored = restoreOf({ linksRevokedAt: 7, rowsLeftOut: [], workspacesLeftOut: [] });
  expect(states({ events: [created, revoked, restored] })).toEqual([{ scope: "agent", revoked_at: 2_000 }]);
});

test("such a restore revoked the open links, and names the rows that it could not make", () => {
  const link = (id: string, columns: RowChange["columns"]) =>
    event(1, "member.invite", { table: "links", id, kind: "add", columns });
  const open = link("inv_1", { used_at: null, revoked_at: null });
  const used = link("inv_2", { used_at: 5, revoked_at: null });
  const restored = restoreOf({ linksRevokedAt: 7, rowsLeftOut: [], workspacesLeftOut: [] });
  const gone = { ...restored, changes: [key("remove", {})] };
  const log = { workspaceId: "ws_1", headSeq: 100, events: [created, open, used, gone] };
  expect([...expectedRows(log, NOW).values()].map((row) => row.states)).toEqual([
    [null],
    [{ used_at: null, revoked_at: 7 }],
    [{ used_at: 5, revoked_at: null }],
  ]);
});
