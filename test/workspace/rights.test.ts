/** The right to an operation is read again in its transaction: one that has ended since the request came, allows nothing. */
import { afterAll, describe, expect, test } from "bun:test";
import type { OperationRequest, Principal, Retry } from "../../src/core/writer/contract.ts";
import type { Job } from "../../src/core/writer/job.ts";
import type { AnyJob } from "../../src/core/writer/perform.ts";
import { IdSource } from "../../src/ids.ts";
import type { Role } from "../../src/operation-facts.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 10, 1);
const KEY = { label: null, scope: "full", agents: null, networks: null, expiresInMs: null } as const;

/** What gives people their roles here. */
const ISSUED = { issuer: "https://id.example.org" };
/** What each requests. */
const DATA = { agentId: "a", key: "k", value: "v", metadata: {} };

/** A workspace with an owner who stays one. */
class Bench implements Disposable {
  nowMs = START_MS;
  readonly #ids = new IdSource();

  private constructor(readonly workspace: OpenWorkspace) {}

  static async make(): Promise<Bench> {
    let bench: Bench | undefined;
    const workspace = await OpenWorkspace.make(directory.path, () => bench?.nowMs ?? START_MS);
    bench = new Bench(workspace);
    await bench.member("owner");
    return bench;
  }

  /** Returns a new member, as a request by a session is authenticated. */
  async member(role: Role, more: Partial<Principal> = {}): Promise<Principal> {
    const actor = this.#ids.next("usr");
    bodyOf(await this.workspace.perform("member.join", { accountId: actor, ...ISSUED, role }));
    const scope = role === "auditor" ? "auditor" : "full";
    return { actor, workspaceId: this.workspace.writer.workspaceId, scope, agents: null, role, person: true, ...more };
  }

  async key(more: Partial<OperationInputs["key.create"]> = {}): Promise<Principal> {
    const { id: actor, networks } = bodyOf(await this.workspace.perform("key.create", { ...KEY, ...more }));
    const { workspaceId } = this.workspace.writer;
    return { actor, workspaceId, scope: "full", agents: null, ...(networks && { networks }) };
  }

  /** What somebody with full rights changes. */
  change<N extends OperationName>(name: N, input: OperationInputs[N]): AnyJob {
    return this.workspace.job(name, input);
  }

  job(principal: Principal, name: OperationRequest["name"], input: unknown, retry?: Retry): AnyJob {
    return jobOf({ name, input, principal, ...(retry && { retry }) } as OperationRequest);
  }

  write(principal: Principal, key = "k", retry?: Retry): AnyJob {
    return this.job(principal, "data.write", { ...DATA, key }, retry);
  }

  /** Performs jobs in one transaction. Returns `done`, or the code of the problem, of each. */
  async together(...jobs: readonly AnyJob[]): Promise<string[]> {
    const replies = await this.workspace.writer.perform(jobs);
    return replies.map(({ answer }) => (answer.kind === "problem" ? answer.code : "done"));
  }

  get head(): number {
    return this.workspace.writer.headSeq;
  }

  [Symbol.dispose](): void {
    this.workspace[Symbol.dispose]();
  }
}

type Case = [
  what: string,
  principal: (bench: Bench) => Promise<Principal>,
  change: (bench: Bench, actor: string) => AnyJob,
  code: string,
];

const ENDED: Case[] = [
  [
    "a member who is removed",
    (bench) => bench.member("member"),
    (bench, accountId) => bench.change("member.remove", { accountId }),
    "forbidden",
  ],
  [
    "an owner who becomes an auditor",
    (bench) => bench.member("owner"),
    (bench, accountId) => bench.change("member.change", { accountId, role: "auditor" }),
    "forbidden",
  ],
  [
    "a member without the second factor that the workspace requires",
    (bench) => bench.member("member"),
    (bench) => bench.job(byCommand(bench), "workspace.change", { requiresSecondFactor: true }),
    "second_factor_missing",
  ],
  [
    "a key that is revoked",
    (bench) => bench.key(),
    (bench, keyId) => bench.change("key.revoke", { keyId }),
    "unauthenticated",
  ],
  [
    "a key that is rotated",
    (bench) => bench.key(),
    (bench, keyId) => bench.change("key.rotate", { keyId, overlapMs: 0 }),
    "unauthenticated",
  ],
  [
    "a key that is limited to networks",
    (bench) => bench.key(),
    (bench, keyId) => bench.change("key.change", { keyId, networks: ["192.0.2.7"] }),
    "unauthenticated",
  ],
];

const byCommand = ({ workspace }: Bench): Principal => ({ ...workspace.principal, actor: "cli" });

describe.each(ENDED)("%s", (_what, make, change, code) => {
  test("performs nothing any more, in the same transaction and later", async () => {
    using bench = await Bench.make();
    const principal = await make(bench);
    const { head } = bench;
    const done = await bench.together(
      ...[bench.write(principal, "before"), change(bench, principal.actor)],
      ...[bench.write(principal, "after"), bench.job(principal, "agent.suspend", { agentId: "a", reason: null })],
    );
    expect(done).toEqual(["done", "done", code, code]);
    expect(bench.head).toBe(head + 2);
    expect(await bench.together(bench.write(principal), bench.job(principal, "key.create", KEY))).toEqual([code, code]);
    expect(bench.head).toBe(head + 2);
    // Those who still have a right are not affected.
    const owner = await bench.member("owner", { hasSecondFactor: true });
    expect(await bench.together(bench.write(owner), bench.write(await bench.key()))).toEqual(["done", "done"]);
  });

  test("nor after a change by another process", async () => {
    using bench = await Bench.make();
    const principal = await make(bench);
    expect(await bench.together(bench.write(principal))).toEqual(["done"]);
    {
      using other = new OpenWorkspace(bench.workspace.path, () => START_MS);
      await other.writer.perform([change(bench, principal.actor)]);
    }
    expect(await bench.together(bench.write(principal))).toEqual([code]);
  });

  test("no part of a batch is performed, and no stored answer is given", async () => {
    using bench = await Bench.make();
    const principal = await make(bench);
    const retry = { id: "1".repeat(32), request: "1".repeat(64), requestId: `req_${"1".repeat(32)}` };
    expect(await bench.together(bench.write(principal, "k", retry), change(bench, principal.actor))).toEqual([
      ...["done", "done"],
    ]);
    const { head } = bench;
    const parts = [{ name: "data.write", input: DATA }];
    const batch = (atomic: boolean) => bench.job(principal, "data.batch", { agentId: "a", atomic, parts });
    expect(await bench.together(bench.write(principal, "k", retry), batch(true), batch(false))).toEqual([
      ...[code, code, code],
    ]);
    expect(bench.head).toBe(head);
  });

  test("nor when the transaction is undone, and each operation has one of its own", async () => {
    using bench = await Bench.make();
    const principal = await make(bench);
    const failing = bench.workspace.failing(bench.change("data.write", DATA) as Job, new Error("a defect"));
    const done = await bench.together(
      ...[bench.write(principal), change(bench, principal.actor), failing, bench.write(principal)],
    );
    expect(done).toEqual(["done", "done", "internal", code]);
  });
});

test("a member with a second factor keeps the right when the workspace requires one", async () => {
  using bench = await Bench.make();
  const member = await bench.member("member", { hasSecondFactor: true });
  const requires = (requiresSecondFactor: boolean) =>
    bench.job(byCommand(bench), "workspace.change", { requiresSecondFactor });
  const without = { ...member };
  delete (without as { hasSecondFactor?: true }).hasSecondFactor;
  expect(
    await bench.together(
      ...[requires(true), bench.write(member), bench.write(without)],
      ...[requires(false), bench.write(without)],
    ),
  ).toEqual(["done", "done", "second_factor_missing", "done", "done"]);
});

test("a member who was removed and joins again has the new role only", async () => {
  using bench = await Bench.make();
  const owner = await bench.member("owner");
  const accountId = owner.actor;
  expect(
    await bench.together(
      bench.change("member.remove", { accountId }),
      bench.change("member.join", { accountId, ...ISSUED, role: "member" }),
      bench.write(owner),
      bench.write({ ...owner, role: "member" }),
    ),
  ).toEqual(["done", "done", "forbidden", "done"]);
});

test("of two owners who remove each other in one transaction, one stays", async () => {
  using bench = await Bench.make();
  const [one, two] = [await bench.member("owner"), await bench.member("owner")];
  const removes = (by: Principal, whom: Principal) => bench.job(by, "member.remove", { accountId: whom.actor });
  expect(await bench.together(removes(one, two), removes(two, one))).toEqual(["done", "forbidden"]);
});

test("a key ends when its time has come, though it had not when the request was authenticated", async () => {
  using bench = await Bench.make();
  const key = await bench.key({ expiresInMs: HOUR_MS });
  expect(await bench.together(bench.write(key))).toEqual(["done"]);
  bench.nowMs += HOUR_MS;
  expect(await bench.together(bench.write(key))).toEqual(["unauthenticated"]);
});
