/** A workspace over its quota of bytes does not grow, whatever is requested. */
import { expect, test } from "bun:test";
import type { Reply } from "../../src/core/writer/contract.ts";
import { OPERATIONS, type OperationInputs, type RecordedName, whenOverQuota } from "../../src/operations.ts";
import type { Quota } from "../../src/ops/data/quota.ts";
import type { ProblemCode } from "../../src/problem.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { bodyOf, OpenWorkspace, SINK_WISH } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const MIB = 1024 * 1024;
/** More than the reserve of a small quota. */
const STORED = 2 * MIB;
const page = { limit: 10, offset: 0 };
const scope = { agentId: "a" };
const LONG_KEY = "k".repeat(2_000);

const KEY_WISH: OperationInputs["key.create"] = {
  ...({ label: null, scope: "full", agents: null, networks: null, expiresInMs: null } as const),
};

const MEMBER = "usr_01hzzzzzzzzzzzzzzzzzzzzzzz";
const INVITATION: OperationInputs["member.invite"] = { role: "member", label: null, expiresInDays: 7 };

/** Requests that find nothing to free or to stop. An operation that needs no more than {@link A_READ} is not listed. */
const REQUESTS: { [N in RecordedName]?: OperationInputs[N] } = {
  "config.read": scope,
  "config.update": { agentId: "a", config: {} },
  "config.list_versions": { agentId: "a", page },
  "config.read_version": { agentId: "a", version: "v1" },
  "config.read_effective": { agentId: "a" },
  "config.rollback": { agentId: "a", version: "v1" },
  "checkpoint.create": { agentId: "a", label: null, metadata: { note: "x".repeat(60_000) } },
  "checkpoint.list": { agentId: "a", page },
  "checkpoint.read": { checkpointId: "ckpt_none" },
  "checkpoint.compare": { checkpointId: "ckpt_none", to: null, page },
  "checkpoint.restore": { checkpointId: "ckpt_none", restoreConfig: true, restoreData: true },
  "checkpoint.delete": { checkpointId: "ckpt_none" },
  "data.write": { agentId: "a", key: "k", value: "v", metadata: {} },
  "data.list": { agentId: "a", prefix: LONG_KEY, page, includeValues: false },
  "data.query": { agentId: "a", prefix: LONG_KEY, filter: [], page, includeValues: false },
  "data.search": { agentId: "a", query: "q", limit: 1, prefix: "", minSimilarity: 0 },
  "data.delete_prefix": { agentId: "a", prefix: LONG_KEY },
  "quarantine.preview": { agentId: "a", key: "none", version: null, effects: null },
  "quarantine.set": { agentId: "a", key: "none", version: null, effects: null, reason: "r", digest: "" },
  "quarantine.release": { agentId: "a", version: "none", reason: "r" },
  "policies.read": {},
  "policies.update": { workspacePolicies: {} },
  "policies.list_versions": { page },
  "policies.read_version": { version: "p1" },
  "policy.check": { agentId: "a", policies: null, key: "", value: "v", metadata: {} },
  "policy.replay": { agentId: "a", policies: {}, form: "json" },
  "audit.query": { scope, window: {}, page },
  "audit.read": { eventId: "evt_none", proof: false },
  "audit.receipt": { eventId: "evt_none" },
  "audit.verify": { scope },
  "audit.export": { scope, format: "json", window: {} },
  "audit.stream": { scope },
  "audit.activity": { scope, window: {}, interval: "day" },
  "lineage.read": { eventId: "evt_none", direction: "causes", depth: 1, page },
  "agent.list": { prefix: "", page },
  "agent.read": scope,
  "agent.suspend": { agentId: "nobody", reason: null },
  "agent.resume": { agentId: "a", reason: null },
  "key.create": KEY_WISH,
  "key.change": { keyId: "key_none", networks: null },
  "key.rotate": { keyId: "key_none", overlapMs: 0 },
  "key.revoke": { keyId: "key_none" },
  "member.invite": INVITATION,
  "member.uninvite": { invitationId: "inv_none" },
  "member.remove": { accountId: "usr_none" },
  "sink.create": SINK_WISH,
  "sink.change": { sinkId: "snk_none", change: { enabled: false } },
  "sink.rotate": { sinkId: "snk_none" },
  "sink.remove": { sinkId: "snk_none" },
  "sink.test": { sinkId: "snk_none" },
};
/** Operations that need something that exists. Without it they are never recorded. */
const MISSING: { [N in RecordedName]?: ProblemCode } = {
  "key.revoke": "key_not_found",
  "member.remove": "member_not_found",
  "member.uninvite": "invitation_not_found",
  "sink.remove": "sink_not_found",
};
const A_READ = { agentId: "a", key: LONG_KEY };
const ALL = Object.entries(OPERATIONS).flatMap(([name, { kind }]) => (kind === "plain" ? [name as RecordedName] : []));
const NAMES = ALL.filter((name) => whenOverQuota(name) !== null);

type Given = { [N in RecordedName]: [N, OperationInputs[N]] }[RecordedName];

const requestOf = (name: RecordedName): Given => [name, REQUESTS[name] ?? A_READ] as Given;

/** A workspace that holds more than the least quota and its reserve. */
async function fullWorkspace(directory: string): Promise<OpenWorkspace> {
  const workspace = await OpenWorkspace.make(directory);
  for (const agentId of ["a", "b"]) {
    await workspace.perform("data.write", { agentId, key: "big", value: "x".repeat(STORED), metadata: {} });
    await workspace.perform("data.write", { agentId, key: "p/1", value: "v", metadata: {} });
  }
  await workspace.perform("config.update", { agentId: "c", config: {} });
  return workspace;
}

async function perform(workspace: OpenWorkspace, quota: Quota, [name, input]: Given): Promise<Reply> {
  const found = name.startsWith("quarantine.") ? await workspace.look(name, input) : undefined;
  const job = jobOf({ name, input, principal: workspace.principal }, found, { quota });
  const [reply] = await workspace.writer.perform([job]);
  return reply as Reply;
}

const codeOf = ({ answer }: Reply) => (answer.kind === "problem" ? answer.code : answer.kind);

async function numberOf(workspace: OpenWorkspace, sql: string): Promise<number> {
  return (await workspace.connection.value<number>(sql)) as number;
}
const events = (workspace: OpenWorkspace) => numberOf(workspace, "SELECT max(seq) FROM events");
const usedBytes = async (workspace: OpenWorkspace) =>
  (await numberOf(workspace, "PRAGMA page_size")) *
  ((await numberOf(workspace, "PRAGMA page_count")) - (await numberOf(workspace, "PRAGMA freelist_count")));

test("every recorded operation is refused without a trace once the reserve is used up, unless it frees or stops", async () => {
  using directory = temporaryDirectory();
  using workspace = await fullWorkspace(directory.path);
  const before = [await events(workspace), await usedBytes(workspace)];
  for (const name of NAMES) {
    for (let round = 0; round < 3; round++) {
      const reply = await perform(workspace, { bytes: 1, entries: 0 }, requestOf(name));
      expect<string[]>([name, codeOf(reply)]).toEqual([name, MISSING[name] ?? "quota_exceeded"]);
    }
  }
  expect([await events(workspace), await usedBytes(workspace)]).toEqual(before);
  expect(workspace.failures).toEqual([]);
});

test("what frees space or stops an agent is always accepted", async () => {
  using directory = temporaryDirectory();
  using workspace = await fullWorkspace(directory.path);
  // With a history, a deletion frees nothing before the history ends.
  await workspace.perform("policies.update", { workspacePolicies: { policies: { history_days: 0 } } });
  await workspace.perform("checkpoint.create", { agentId: "a", label: null, metadata: {} });
  const checkpointId = (await workspace.connection.value<string>("SELECT id FROM checkpoints")) as string;
  const { id: keyId } = bodyOf(await workspace.perform("key.create", KEY_WISH));
  const { id: invitationId } = bodyOf(await workspace.perform("member.invite", INVITATION));
  const joining = {
    name: "member.join",
    input: { accountId: MEMBER, role: "auditor", issuer: "https://issuer.example" },
  } as const;
  await workspace.writer.perform([jobOf({ ...joining, principal: { ...workspace.principal, actor: MEMBER } })]);
  expect(await workspace.connection.value("SELECT 1 FROM members WHERE account_id = ?", [MEMBER])).toBe(1);
  const { id: sinkId } = bodyOf(await workspace.perform("sink.create", SINK_WISH));
  await workspace.perform("data.write", { agentId: "b", key: "poison", value: "v", metadata: {} });
  const poisoned = { agentId: "b", key: "poison", version: null, effects: null };
  const { digest } = bodyOf(await workspace.performLooked("quarantine.preview", poisoned));
  const used = await usedBytes(workspace);
  const accepted: Given[] = [
    ["agent.suspend", { agentId: "c", reason: null }],
    ["checkpoint.delete", { checkpointId }],
    ["data.delete", { agentId: "a", key: "big" }],
    ["data.delete_prefix", { agentId: "a", prefix: "p/" }],
    ["data.erase", { agentId: "b", key: "big" }],
    ["key.revoke", { keyId }],
    ["member.remove", { accountId: MEMBER }],
    ["member.uninvite", { invitationId }],
    ["quarantine.set", { ...poisoned, reason: "r", digest }],
    ["sink.remove", { sinkId }],
  ];
  expect(accepted.map(([name]) => name).toSorted()).toEqual(
    NAMES.filter((name) => whenOverQuota(name) === "accepted").toSorted(),
  );
  for (const [at, given] of accepted.entries()) {
    expect([given[0], codeOf(await perform(workspace, { bytes: 1, entries: 0 }, given))]).toEqual([given[0], "json"]);
    // The second time it changes nothing.
    if (at === 0) expect(codeOf(await perform(workspace, { bytes: 1, entries: 0 }, given))).toBe("quota_exceeded");
  }
  expect(await usedBytes(workspace)).toBeLessThan(used - STORED);
});

test("no quota limits what is about accounts: people can always sign in", () => {
  const unlimited = ALL.filter((name) => !NAMES.includes(name));
  expect(unlimited).toEqual(ALL.filter((name) => name.startsWith("account.")));
  expect(unlimited).toContain("account.sign_in");
});

test("within the reserve proofs and configurations are accepted, and refusals are recorded in its first half", async () => {
  using directory = temporaryDirectory();
  using workspace = await fullWorkspace(directory.path);
  const used = await usedBytes(workspace);
  const over = (bytes: number): Quota => ({ bytes: used - bytes, entries: 0 });
  const count = await events(workspace);
  for (const name of NAMES.filter((name) => whenOverQuota(name) === "refused")) {
    const { agentId = null } = requestOf(name)[1] as { agentId?: string };
    const reply = await perform(workspace, over(MIB / 8), requestOf(name));
    expect([name, codeOf(reply), reply.auditId === null]).toEqual([name, "quota_exceeded", false]);
    const unrecorded = await perform(workspace, over(0.75 * MIB), requestOf(name));
    expect([name, codeOf(unrecorded), unrecorded.auditId, agentId]).toEqual([name, "quota_exceeded", null, agentId]);
  }
  expect(await events(workspace)).toBe(count + NAMES.filter((name) => whenOverQuota(name) === "refused").length);
  for (const bytes of [MIB / 8, 0.75 * MIB]) {
    expect(codeOf(await perform(workspace, over(bytes), requestOf("audit.read")))).toBe("audit_event_not_found");
    expect(codeOf(await perform(workspace, over(bytes), requestOf("config.update")))).toBe("json");
  }
});

test("one key cannot fill the disk with reads and checkpoints", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  await workspace.perform("data.write", { agentId: "a", key: "k", value: "v", metadata: {} });
  const quota = { bytes: MIB, entries: 0 };
  for (let i = 0; i < 4_000; i++) {
    for (const name of ["data.read", "data.delete", "checkpoint.create", "audit.read"] as const) {
      await perform(workspace, quota, requestOf(name));
    }
  }
  // The reserve, and what is added between two measurements.
  expect(await usedBytes(workspace)).toBeLessThan(MIB + MIB + 16 * 70_000);
  expect(codeOf(await perform(workspace, quota, ["data.delete", { agentId: "a", key: "k" }]))).toBe("json");
});
