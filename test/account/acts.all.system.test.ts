/**
 * Acts on members, invitations and keys, many at the same time and cut off: the log records what was done and nothing
 * else, so that a replay of it gives the members and keys of the control database.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { dataDirectory, presentWorkspaces } from "../../src/core/datadir/layout.ts";
import { listInvitations } from "../../src/ops/accounts/links.ts";
import { listMembers } from "../../src/ops/accounts/members.ts";
import { ControlDatabase } from "../../src/ops/directory/database.ts";
import { type KeyRecord, listKeys } from "../../src/ops/directory/keys.ts";
import { listLogs } from "../../src/ops/directory/workspaces.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { serverOfDirectory } from "../support/engine.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { invited, type Person, signUp, tokenOf } from "./browser.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const HOUR_MS = 3_600_000;

let daemon: TestDaemon;
let founder: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { rate_limit: "1000" } });
  founder = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterAll(() => daemon[Symbol.asyncDispose]());

type Workspace = Person & { base: string };

/** A new workspace of the founder. */
async function workspace(): Promise<Workspace> {
  const { json } = await founder.browser.post("/account/workspaces", { name: "acts" });
  const workspaceId = json.workspace_id as string;
  return { ...founder, workspaceId, base: `/account/workspaces/${workspaceId}` };
}

const cli = (...words: string[]) => governdProcess([...words, "--json", "--data-dir", daemon.dataDir]);

/** The events of an operation, all of which must be `ok`. */
function events(workspaceId: string, operation: string) {
  const found = daemon.viewOf(workspaceId).eventsAfter(-1);
  return found
    .filter((event) => event.operation === operation)
    .map(({ result, details }) => {
      expect(result).toBe("ok");
      return details as Record<string, unknown>;
    });
}

const codesOf = (answers: readonly Answered[]) =>
  answers.map(({ status, json }) => (status < 300 ? "done" : json.code)).sort();

type Key = Pick<KeyRecord, "id" | "label" | "scope" | "agents" | "expiresAt" | "replacedBy"> & { revoked: boolean };

/** The members that details of such events can have. */
interface Details extends Pick<Key, "label" | "scope" | "agents"> {
  account_id: string;
  role: string;
  key_id: string;
  expires_at: string | null;
  replaces: string;
  replaced_expires_at: string;
}

const timeOf = (text: unknown) => (text === null ? null : Date.parse(text as string));

/** What the log of a workspace says about its members and keys. */
function replayed(workspaceId: string) {
  const members = new Map<string, string>();
  const keys = new Map<string, Key>();
  const actors = daemon.viewOf(workspaceId).connection;
  const [creator = ""] = actors.get<[string]>("SELECT body ->> '$.actor' FROM events WHERE seq = 0") ?? [];
  if (creator !== "cli") members.set(creator, "owner");
  for (const { operation, details: some } of daemon.viewOf(workspaceId).eventsAfter(0)) {
    const details = some as unknown as Details;
    if (operation === "member.join" || operation === "member.change") members.set(details.account_id, details.role);
    if (operation === "member.remove") members.delete(details.account_id);
    if (operation === "key.create" || operation === "key.rotate") {
      const { key_id: id, label, scope, agents } = details;
      const expiresAt = timeOf(details.expires_at);
      keys.set(id, { id, label, scope, agents, expiresAt, replacedBy: null, revoked: false });
    }
    if (operation === "key.rotate") {
      const old = keys.get(details.replaces) as Key;
      expect(old.replacedBy).toBeNull();
      Object.assign(old, { replacedBy: details.key_id, expiresAt: timeOf(details.replaced_expires_at) });
    }
    if (operation === "key.revoke") Object.assign(keys.get(details.key_id) as Key, { revoked: true });
  }
  return { members: [...members].sort(), keys: [...keys.values()].sort((a, b) => (a.id < b.id ? -1 : 1)) };
}

/** What the control database says about them. */
function stored(workspaceId: string) {
  using control = ControlDatabase.open(dataDirectory(daemon.dataDir));
  const { connection } = control;
  expect(connection.all("SELECT * FROM pending_acts")).toEqual([]);
  return {
    members: listMembers(connection, workspaceId)
      .map(({ accountId, role }) => [accountId, role] as [string, string])
      .sort(),
    keys: listKeys(connection, workspaceId)
      .map(({ id, label, scope, agents, expiresAt, replacedBy, revokedAt }) => {
        return { id, label, scope, agents, expiresAt, replacedBy, revoked: revokedAt !== null };
      })
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

function assertAgreement(workspaceId: string): void {
  expect(replayed(workspaceId)).toEqual(stored(workspaceId) as ReturnType<typeof replayed>);
}

describe("of many at the same time, one is done and recorded", () => {
  test("an invitation is accepted by one account", async () => {
    const owner = await workspace();
    const people = await Promise.all(Array.from({ length: 6 }, () => invited(founder, "member")));
    const { json } = await founder.browser.post(`${owner.base}/invitations`, { role: "member" });
    const answers = await Promise.all(
      people.map(({ browser }) => browser.post("/account/invitations/accept", { token: json.token })),
    );
    expect(codesOf(answers)).toEqual(["done", ...Array(5).fill("link_not_found")]);
    expect(events(owner.workspaceId, "member.join")).toHaveLength(1);
    assertAgreement(owner.workspaceId);
  });

  test("an invitation creates one account, or is withdrawn", async () => {
    const owner = await workspace();
    const path = `${owner.base}/invitations`;
    const { json } = await founder.browser.post(path, { role: "member" });
    const outcomes = await Promise.all([
      ...Array.from({ length: 4 }, () =>
        signUp(daemon, json.token).then(
          () => true,
          () => false,
        ),
      ),
      founder.browser.delete(`${path}/${json.id}`).then(({ status }) => status === 204),
    ]);
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    const recorded = ["member.join", "member.uninvite"].flatMap((name) => events(owner.workspaceId, name));
    expect(recorded).toHaveLength(1);
    assertAgreement(owner.workspaceId);
  });

  test("two owners demote or remove each other: one stays an owner", async () => {
    for (const verb of ["put", "delete"] as const) {
      const one = await workspace();
      const { token } = (await founder.browser.post(`${one.base}/invitations`, { role: "owner" })).json;
      const two = await signUp(daemon, token);
      const act = (by: Person, whom: Person) =>
        by.browser[verb](`${one.base}/members/${whom.accountId}`, { role: "member" });
      const answers = await Promise.all([act(one, two), act(two, one)]);
      expect(codesOf(answers)).toEqual(["done", verb === "put" ? "forbidden" : "workspace_not_found"]);
      const name = verb === "put" ? "member.change" : "member.remove";
      expect(events(one.workspaceId, name)).toHaveLength(1);
      assertAgreement(one.workspaceId);
    }
  });

  test("a key is rotated once, by a request or a command, and expires as that rotation said", async () => {
    const { base, browser, workspaceId } = await workspace();
    const { id } = (await browser.post(`${base}/keys`, { label: "bot" })).json;
    const overlaps = [1, 24, 720, 48];
    const [commands, answers] = await Promise.all([
      Promise.all([cli("key", "rotate", id, "--overlap", "2h"), cli("key", "rotate", id, "--overlap", "30d")]),
      Promise.all(overlaps.map((overlap_hours) => browser.post(`${base}/keys/${id}/rotate`, { overlap_hours }))),
    ]);
    const done = answers.filter(({ status }) => status === 201).length;
    expect(codesOf(answers).filter((code) => code !== "done")).toEqual(Array(4 - done).fill("key_ended"));
    const refused = commands.filter(({ code }) => code !== 0);
    for (const { err } of refused) expect(err).toContain("already");
    expect(done + commands.length - refused.length).toBe(1);
    const [rotation, ...others] = events(workspaceId, "key.rotate");
    expect(others).toEqual([]);
    using control = ControlDatabase.open(dataDirectory(daemon.dataDir));
    const old = listKeys(control.connection, workspaceId).find((key) => key.id === id);
    expect(old?.replacedBy).toBe(rotation?.key_id as string);
    expect(old?.expiresAt).toBe(timeOf(rotation?.replaced_expires_at));
    assertAgreement(workspaceId);
  });

  test("a key is revoked once, or rotated before", async () => {
    const { base, browser, workspaceId } = await workspace();
    const { id } = (await browser.post(`${base}/keys`, {})).json;
    await Promise.all([
      cli("key", "revoke", id),
      ...Array.from({ length: 3 }, () => browser.delete(`${base}/keys/${id}`)),
      browser.post(`${base}/keys/${id}/rotate`),
    ]);
    expect(events(workspaceId, "key.revoke")).toHaveLength(1);
    assertAgreement(workspaceId);
  });
});

test("a replay of any acts at the same time gives the members and keys", async () => {
  const random = new Seeded(effort({ usual: 14, long: SEED }));
  const { base, workspaceId } = await workspace();
  const people: Person[] = [founder];
  for (let i = 0; i < 4; i++) people.push(await invited({ ...founder, workspaceId }, "owner"));
  const tokens: string[] = [];
  const act = async ({ browser }: Person): Promise<Answered> => {
    const keys = listKeysNow(workspaceId);
    const key = `${base}/keys/${random.pick(keys).id}`;
    const member = `${base}/members/${random.pick(people).accountId}`;
    const acts: (() => Promise<Answered>)[] = [
      () => browser.post(`${base}/keys`, { label: "more", expires_in_days: 3 }),
      () => browser.post(`${key}/rotate`, { overlap_hours: random.between(1, 700) }),
      () => browser.delete(key),
      () => browser.put(member, { role: random.pick(["owner", "member", "auditor"]) }),
      () => browser.delete(member),
      () => browser.post("/account/invitations/accept", { token: random.pick(tokens) }),
    ];
    return await random.pick(acts)();
  };
  for (let round = 0; round < effort({ usual: 4, long: 100 }); round++) {
    for (const { browser } of people) {
      const made = await browser.post(`${base}/invitations`, { role: "owner" });
      if (made.status === 201) tokens.push(made.json.token);
    }
    const beside = round % 2 === 0 ? cli("key", "rotate", listKeysNow(workspaceId)[0]?.id as string) : null;
    const answers = await Promise.all(Array.from({ length: 12 }, () => act(random.pick(people))));
    expect(answers.filter(({ status }) => status >= 500).map(({ text }) => text)).toEqual([]);
    const { code, err } = (await beside) ?? { code: 0, err: "" };
    if (code !== 0) expect(err).toContain("already");
    assertAgreement(workspaceId);
  }
});

function listKeysNow(workspaceId: string): KeyRecord[] {
  using control = ControlDatabase.open(dataDirectory(daemon.dataDir));
  return listKeys(control.connection, workspaceId);
}

function openInvitations(workspaceId: string): string[] {
  using control = ControlDatabase.open(dataDirectory(daemon.dataDir));
  return listInvitations(control.connection, workspaceId, Date.now()).map(({ id }) => id);
}

const SOURCE = join(import.meta.dir, "../../src");

/**
 * A process that does one act and kills itself before or after the recording of its event, or halfway through creating a
 * workspace: its log has no event but the first.
 */
const killed = (moment: "before" | "halfway" | "after", what: string) =>
  Bun.spawn([
    process.execPath,
    "-e",
    `
    import { Administration } from ${JSON.stringify(join(SOURCE, "ops/directory/administration.ts"))};
    import { ControlDatabase } from ${JSON.stringify(join(SOURCE, "ops/directory/database.ts"))};
    import { fileJournal } from ${JSON.stringify(join(SOURCE, "ops/directory/journal.ts"))};
    import { dataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/layout.ts"))};
    import { IdSource, RandomPool, systemClock as clock } from ${JSON.stringify(join(SOURCE, "ids.ts"))};
    const server = ${JSON.stringify(serverOfDirectory(daemon.dataDir))};
    const directory = dataDirectory(${JSON.stringify(daemon.dataDir)}, null, server);
    import * as membership from ${JSON.stringify(join(SOURCE, "ops/accounts/membership.ts"))};
    const files = fileJournal(directory);
    const die = () => process.kill(process.pid, "SIGKILL");
    const dying = (work) => async (...words) => {
      if (${moment === "before"}) die();
      if (${moment === "halfway"}) words[1] = null;
      await work(...words).catch(die);
      die();
    };
    const journal = { ...files, create: dying(files.create), record: dying(files.record) };
    const random = new RandomPool();
    const control = await ControlDatabase.openShared(directory, () => {});
    const parts = { control, journal, clock, random, ids: new IdSource() };
    const administration = new Administration({ ...parts, actor: "cli", permit: () => {} });
    await ${what};`,
  ]).exited;

test("a workspace whose creation is killed halfway leaves nothing", async () => {
  const directory = dataDirectory(daemon.dataDir);
  const before = presentWorkspaces(directory).sort();
  await killed("halfway", 'administration.createWorkspace("cut off")');
  expect(presentWorkspaces(directory)).toHaveLength(before.length + 1);
  await daemon.restart();
  expect(presentWorkspaces(directory).sort()).toEqual(before);
});

describe.each(["before", "after"] as const)("killed %s its event is recorded", (moment) => {
  /** What was stored of a workspace before an act on it was killed. */
  interface Killed {
    workspaceId: string;
    before: unknown;
  }

  const state = (workspaceId: string) => [stored(workspaceId), openInvitations(workspaceId)];

  async function kill(workspaceId: string, what: string): Promise<Killed> {
    const before = state(workspaceId);
    expect(await killed(moment, what)).not.toBe(0);
    return { workspaceId, before };
  }

  /** Starts the daemon again, and looks at each workspace. */
  async function expectSettled(all: readonly Killed[]): Promise<void> {
    await daemon.restart();
    for (const { workspaceId, before } of all) {
      if (moment === "before") expect(state(workspaceId)).toEqual(before as never);
      else expect(state(workspaceId)).not.toEqual(before as never);
      assertAgreement(workspaceId);
    }
  }

  /** Some of the acts, others in each run. */
  const chosen = <T>(acts: readonly T[]): T[] =>
    new Seeded(SEED).shuffled(acts).slice(0, effort({ usual: 2, long: acts.length }));

  test("acts on keys are settled when the daemon starts", async () => {
    const acts = [
      (workspaceId: string) =>
        `createKey({ workspaceId: "${workspaceId}", label: "cut off", scope: "full", agents: null, expiresInMs: null })`,
      (_: string, keyId: string) => `rotateKey("${keyId}", ${HOUR_MS})`,
      (_: string, keyId: string) => `revokeKey("${keyId}")`,
    ];
    const all: Killed[] = [];
    for (const act of chosen(acts)) {
      const { base, browser, workspaceId } = await workspace();
      const { id } = (await browser.post(`${base}/keys`, { label: "bot" })).json;
      all.push(await kill(workspaceId, `administration.${act(workspaceId, id)}`));
    }
    await expectSettled(all);
  });

  test("acts on members are settled when the daemon starts", async () => {
    const guest = await invited(founder, "member");
    const all: Killed[] = [];
    const invitation = async ({ base, browser }: Workspace) =>
      (await browser.post(`${base}/invitations`, { role: "member" })).json as { id: string; token: string };
    const withGuest = async (made: Workspace) => {
      const { token } = await invitation(made);
      expect((await guest.browser.post("/account/invitations/accept", { token })).status).toBeLessThan(300);
      return `workspaceId: "${made.workspaceId}", accountId: "${guest.accountId}"`;
    };
    const acts = [
      async ({ accountId, workspaceId }: Workspace) => {
        const wish = `{ workspaceId: "${workspaceId}", role: "member", label: null, expiresInDays: 1 }`;
        return `invite(parts, "${accountId}", ${wish})`;
      },
      async (made: Workspace) => {
        const { id } = await invitation(made);
        return `uninvite(parts, "${made.accountId}", { workspaceId: "${made.workspaceId}", invitationId: "${id}" })`;
      },
      async (made: Workspace) => `acceptInvitation(parts, "${guest.accountId}", "${(await invitation(made)).token}")`,
      async (made: Workspace) =>
        `changeRole(parts, "${made.accountId}", { ${await withGuest(made)}, role: "auditor" })`,
      async (made: Workspace) => `removeMember(parts, "${made.accountId}", { ${await withGuest(made)} })`,
    ];
    for (const prepare of chosen(acts)) {
      const made = await workspace();
      all.push(await kill(made.workspaceId, `membership.${await prepare(made)}`));
    }
    await expectSettled(all);
  });

  test("an act is settled before the next one on the workspace", async () => {
    const { base, browser, workspaceId } = await workspace();
    const { id } = (await browser.post(`${base}/keys`, { label: "bot" })).json;
    await killed(moment, `administration.rotateKey("${id}", ${HOUR_MS})`);
    const { status } = await browser.post(`${base}/keys/${id}/rotate`);
    expect(status).toBe(moment === "before" ? 201 : 409);
    assertAgreement(workspaceId);
  });

  test("a workspace exists with its log, or not at all", async () => {
    const list = () => {
      using control = ControlDatabase.open(dataDirectory(daemon.dataDir));
      return listLogs(control.connection).map((record) => record.id);
    };
    const before = list();
    await killed(moment, 'administration.createWorkspace("cut off")');
    await daemon.restart();
    const after = list();
    expect(after.length - before.length).toBe(moment === "before" ? 0 : 1);
    expect(presentWorkspaces(dataDirectory(daemon.dataDir)).sort()).toEqual([...after].sort());
    for (const id of after.slice(before.length)) assertAgreement(id);
  });
});

test("the daemon's directory verifies with its control database while it runs", async () => {
  const { code, json } = await governdProcess(["verify", daemon.dataDir, "--json"]);
  const { sources } = json<{ sources: { kind: string; problems: unknown[] }[] }>();
  expect(sources.flatMap(({ problems }) => problems)).toEqual([]);
  expect([code, sources.at(-1)?.kind]).toEqual([0, "control"]);
});
