/**
 * Operations on members, invitations and keys, many at the same time, and acts of several steps that are cut off between them:
 * the log records what was done and nothing else, so that a replay of it gives the stored members and keys.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory, presentWorkspaces } from "../../src/core/datadir/layout.ts";
import { listKeys, type StoredKey } from "../../src/core/rows/access/keys.ts";
import { listMembers } from "../../src/core/rows/access/members.ts";
import { listWorkspaces } from "../../src/ops/directory/workspaces.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { Browser, freshEmail, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";
import { HALFWAY, killed } from "./killed.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

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

type Key = Pick<StoredKey, "id" | "label" | "scope" | "agents" | "expiresAt" | "replacedBy"> & { revoked: boolean };

/** The members that details of such events can have. */
interface Details extends Pick<Key, "label" | "scope" | "agents"> {
  owner: string | null;
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
  for (const { operation, details: some } of daemon.viewOf(workspaceId).eventsAfter(-1)) {
    const details = some as unknown as Details;
    if (operation === "workspace.create" && details.owner !== null) members.set(details.owner, "owner");
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

/** What the workspace's file says about members and keys. */
async function stored(workspaceId: string) {
  const { connection } = daemon.viewOf(workspaceId);
  return {
    members: (await listMembers(connection)).map(({ accountId, role }) => [accountId, role] as [string, string]).sort(),
    keys: (await listKeys(connection))
      .map(({ id, label, scope, agents, expiresAt, replacedBy, revokedAt }) => {
        return { id, label, scope, agents, expiresAt, replacedBy, revoked: revokedAt !== null };
      })
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

async function assertAgreement(workspaceId: string): Promise<void> {
  expect(replayed(workspaceId)).toEqual((await stored(workspaceId)) as ReturnType<typeof replayed>);
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
    await assertAgreement(owner.workspaceId);
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
    await assertAgreement(owner.workspaceId);
  });

  test("two owners demote or remove each other: one stays an owner", async () => {
    for (const verb of ["put", "delete"] as const) {
      const one = await workspace();
      const { token } = (await founder.browser.post(`${one.base}/invitations`, { role: "owner" })).json;
      const two = await signUp(daemon, token);
      const act = (by: Person, whom: Person) =>
        by.browser[verb](`${one.base}/members/${whom.accountId}`, { role: "member" });
      const answers = await Promise.all([act(one, two), act(two, one)]);
      // One that comes when the other is done finds no workspace; one that waited with it has lost its right.
      expect(codesOf(answers)).toEqual(["done", expect.stringMatching(/^(forbidden|workspace_not_found)$/)]);
      const name = verb === "put" ? "member.change" : "member.remove";
      expect(events(one.workspaceId, name)).toHaveLength(1);
      await assertAgreement(one.workspaceId);
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
    const old = (await listKeysNow(workspaceId)).find((key) => key.id === id);
    expect(old?.replacedBy).toBe(rotation?.key_id as string);
    expect(old?.expiresAt).toBe(timeOf(rotation?.replaced_expires_at));
    await assertAgreement(workspaceId);
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
    await assertAgreement(workspaceId);
  });
});

test("a replay of any acts at the same time gives the members and keys", async () => {
  const random = new Seeded(effort({ usual: 14, long: SEED }));
  const { base, workspaceId } = await workspace();
  const people: Person[] = [founder];
  for (let i = 0; i < 4; i++) people.push(await invited({ ...founder, workspaceId }, "owner"));
  const tokens: string[] = [];
  const act = async ({ browser }: Person): Promise<Answered> => {
    const keys = await listKeysNow(workspaceId);
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
    const beside = round % 2 === 0 ? cli("key", "rotate", (await listKeysNow(workspaceId))[0]?.id as string) : null;
    const answers = await Promise.all(Array.from({ length: 12 }, () => act(random.pick(people))));
    expect(answers.filter(({ status }) => status >= 500).map(({ text }) => text)).toEqual([]);
    const { code, err } = (await beside) ?? { code: 0, err: "" };
    if (code !== 0) expect(err).toContain("already");
    await assertAgreement(workspaceId);
  }
});

const listKeysNow = (workspaceId: string): Promise<StoredKey[]> => listKeys(daemon.viewOf(workspaceId).connection);

/** The workspaces of the installation, oldest first. */
const listed = () => listWorkspaces(daemon.viewOf(daemon.installationId).connection).map(({ id }) => id);

/** The files are those of the workspaces, and that of the installation. */
function expectFilesOf(ids: readonly string[]): void {
  expect(presentWorkspaces(dataDirectory(daemon.dataDir)).sort()).toEqual([daemon.installationId, ...ids].sort());
}

const asOperator = 'createWorkspace(parts, "cli", "cut off")';
const asFounder = () => `foundWorkspace(parts, "${founder.accountId}", "cut off")`;

test("a workspace whose creation is killed halfway leaves nothing", async () => {
  const before = listed();
  for (const what of [asOperator, asFounder()]) {
    await killed(daemon.dataDir, HALFWAY, what);
    expect(presentWorkspaces(dataDirectory(daemon.dataDir))).toHaveLength(before.length + 2);
    await daemon.restart();
    expect(listed()).toEqual(before);
    expectFilesOf(before);
  }
});

describe.each(["before", "after"] as const)("killed %s an event is recorded", (at) => {
  test("an act on accounts is followed by the next one, beside the daemon", async () => {
    const { browser, accountId } = await invited(founder, "member");
    const log = daemon.installationId;
    const before = events(log, "account.rename").length;
    await killed(daemon.dataDir, { at, nth: 1 }, `rename(parts, "${accountId}", "killed")`);
    expect((await browser.put("/account", { name: "next" })).status).toBe(200);
    expect((await browser.get("/account")).json.account.name).toBe("next");
    expect(events(log, "account.rename")).toHaveLength(before + (at === "before" ? 1 : 2));
  });

  test("a workspace exists with its log and its owner, or not at all", async () => {
    const owned = async () => (await founder.browser.get("/account/workspaces")).json.data.length as number;
    // The first event is that of its first key, in its own log, and the second that which adds it to the installation.
    for (const nth of [1, 2]) {
      const [before, ownedBefore] = [listed(), await owned()];
      for (const what of [asOperator, asFounder()]) {
        expect(await killed(daemon.dataDir, { at, nth }, what)).not.toBe(0);
        await daemon.restart();
      }
      const after = listed();
      const made = nth === 2 && at === "after" ? 1 : 0;
      expect(after.length - before.length).toBe(2 * made);
      expect(await owned()).toBe(ownedBefore + made);
      expectFilesOf(after);
      for (const id of after.slice(before.length)) await assertAgreement(id);
    }
  });

  test("a deleted workspace is there and works, or its files are gone with the next start", async () => {
    const { workspaceId: id, base } = await workspace();
    const before = listed();
    await daemon.stop();
    const deletion = `deleteWorkspace(parts, directory, sealKeySource(directory, null), "${id}")`;
    expect(await killed(daemon.dataDir, { at, nth: 1 }, deletion)).not.toBe(0);
    expectFilesOf(before);
    await daemon.restart();
    const left = before.filter((one) => at === "before" || one !== id);
    expect(listed()).toEqual(left);
    expectFilesOf(left);
    const made = await founder.browser.post(`${base}/keys`, { label: "after" });
    expect(made.status).toBe(at === "before" ? 201 : 404);
    if (at === "before") {
      expect((await daemon.client(made.json.api_key).write("bot", "k", "v")).status).toBe(200);
      await assertAgreement(id);
    }
  });
});

describe.each([
  ["before its account is made", 0],
  ["when its account is made", 1],
  ["when its session has begun", 2],
] as const)("a sign-up that is killed %s", (_, steps) => {
  const isMade = steps > 0;
  const moment = isMade ? ({ at: "after", nth: steps } as const) : ({ at: "before", nth: 1 } as const);

  /** Signs up with a token in a process that is killed, and starts the daemon again. Returns the mail address. */
  async function cutOff(token: string): Promise<string> {
    const email = freshEmail();
    const request = { email, password: PASSWORD, name: null, workspaceName: null, token };
    const origin = { address: "127.0.0.1", userAgent: "", device: null };
    const what = `signUp(parts, ${JSON.stringify(request)}, ${JSON.stringify(origin)})`;
    expect(await killed(daemon.dataDir, moment, what)).not.toBe(0);
    await daemon.restart();
    return email;
  }

  /** Signs in with the mail address, whose account belongs to no workspace yet; null when there is no account. */
  async function signedIn(email: string): Promise<Browser | null> {
    const browser = new Browser(daemon);
    const { status, json } = await browser.post("/account/sign-in", { email, password: PASSWORD });
    expect(status).toBe(isMade ? 200 : 401);
    if (!isMade) return null;
    expect(json.workspaces).toEqual([]);
    return browser;
  }

  /** Another person makes an account with the token exactly if there is none yet. */
  async function expectUsed(token: string): Promise<void> {
    const wish = { email: freshEmail(), password: PASSWORD, token };
    const { status, json } = await new Browser(daemon).post("/account/sign-up", wish);
    expect([status, json.code]).toEqual(isMade ? [404, "link_not_found"] : [201, undefined]);
  }

  test("with a link, the account makes its workspace", async () => {
    const { token } = (await cli("account", "link")).json<{ token: string }>();
    const email = await cutOff(token);
    await expectUsed(token);
    const browser = await signedIn(email);
    if (browser === null) return;
    const { status, json } = await browser.post("/account/workspaces", { name: "at last" });
    expect([status, json.workspace.role]).toEqual([201, "owner"]);
    expect((await daemon.client(json.api_key).write("bot", "k", "v")).status).toBe(200);
    await assertAgreement(json.workspace_id);
    // The right was for one workspace: who no longer owns any makes no other one.
    const invitation = await browser.post(`/account/workspaces/${json.workspace_id}/invitations`, { role: "owner" });
    const heir = await signUp(daemon, invitation.json.token);
    const { account } = (await browser.get("/account")).json;
    const left = await heir.browser.delete(`/account/workspaces/${json.workspace_id}/members/${account.id}`);
    expect(left.status).toBe(204);
    expect((await browser.post("/account/workspaces", { name: "another" })).json.code).toBe("forbidden");
  });

  test("with an invitation, the account joins with the same token", async () => {
    const { base, workspaceId } = await workspace();
    const { token } = (await founder.browser.post(`${base}/invitations`, { role: "auditor" })).json;
    const email = await cutOff(token);
    await expectUsed(token);
    const browser = await signedIn(email);
    if (browser !== null) {
      expect((await browser.post("/account/workspaces", { name: "own" })).json.code).toBe("forbidden");
      const { status, json } = await browser.post("/account/invitations/accept", { token });
      expect([status, json.id, json.role]).toEqual([200, workspaceId, "auditor"]);
    }
    const again = await founder.browser.post("/account/invitations/accept", { token });
    expect([again.status, again.json.code]).toEqual([404, "link_not_found"]);
    expect(events(workspaceId, "member.join")).toHaveLength(1);
    await assertAgreement(workspaceId);
  });
});

test("the daemon's directory verifies while it runs", async () => {
  const { code, json } = await governdProcess(["verify", daemon.dataDir, "--json"]);
  const { sources } = json<{ sources: { kind: string; problems: unknown[] }[] }>();
  expect(sources.flatMap(({ problems }) => problems)).toEqual([]);
  expect([code, sources.length]).toEqual([0, listed().length + 1]);
});
