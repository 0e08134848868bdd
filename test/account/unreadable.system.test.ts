/** A workspace whose file cannot be read: people keep everything else. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { Browser, invited, PASSWORD, type Person, signUp, tokenOf } from "./browser.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
/** Owns two workspaces: `workspaceId`, and the one that becomes unreadable. */
let owner: Person;
let lost: string;
let member: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start({ engine: "embedded" });
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
  lost = (await owner.browser.post("/account/workspaces", { name: "lost" })).json.workspace_id;
  member = await invited({ ...owner, workspaceId: lost }, "member");
});
afterAll(() => daemon[Symbol.asyncDispose]());

const fileOf = (id: string) => workspaceFile(dataDirectory(daemon.dataDir), id);

/** The files that were damaged, which have copies. */
const damaged = new Set<string>();

/** Stops the daemon, damages a file, and starts the daemon again. */
async function damage(id: string, how: (path: string) => void): Promise<void> {
  const file = fileOf(id);
  await daemon.stop();
  copyFileSync(file, `${file}.kept`);
  damaged.add(file);
  how(file);
  await daemon.restart();
}

/** Puts the files back. */
async function repair(): Promise<void> {
  if (damaged.size === 0) return;
  await daemon.stop();
  for (const file of damaged) {
    for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
    renameSync(`${file}.kept`, file);
  }
  damaged.clear();
  await daemon.restart();
}
afterEach(repair);

const idsOf = (workspaces: { id: string }[]) => workspaces.map(({ id }) => id);

describe.each([
  ["is missing", (path: string) => rmSync(path)],
  ["is no database", (path: string) => writeFileSync(path, "no database".repeat(1_000))],
  ["is cut off", (path: string) => truncateSync(path, 8_192)],
])("its file %s", (_how, how) => {
  test("GET /account leaves it out, and answers", async () => {
    await damage(lost, how);
    const { status, json } = await owner.browser.get("/account");
    expect([status, idsOf(json.workspaces)]).toEqual([200, [owner.workspaceId]]);
    expect((await owner.browser.get("/account/workspaces")).json.data).toEqual(json.workspaces);
    // Whoever is in no other workspace is in none, and can still sign in.
    const credentials = { email: member.email, password: PASSWORD };
    const signedIn = await new Browser(daemon).post("/account/sign-in", credentials);
    expect([signedIn.status, signedIn.json.workspaces]).toEqual([200, []]);
    // What is about the workspace itself says that it cannot be read, and not that it is not theirs.
    const headers = { "x-workspace-id": lost };
    for (const { status: refused, json: problem } of [
      await owner.browser.get(`/account/workspaces/${lost}`),
      await owner.browser.get(`/account/workspaces/${lost}/members`),
      await member.browser.get("/v1/agents", headers),
    ]) {
      expect([refused, problem.code]).toEqual([503, "unavailable"]);
    }
    expect((await owner.browser.get(`/account/workspaces/${owner.workspaceId}/members`)).status).toBe(200);
    const body = { agent_id: "a", key: "k", value: "v" };
    const written = await owner.browser.post("/v1/data/write", body, { "x-workspace-id": owner.workspaceId });
    expect(written.json.allowed).toBe(true);
  });
});

test("when its file is back, it is there again", async () => {
  await damage(lost, (path) => rmSync(path));
  expect(idsOf((await owner.browser.get("/account")).json.workspaces)).not.toContain(lost);
  await repair();
  expect(idsOf((await owner.browser.get("/account")).json.workspaces)).toContain(lost);
  expect((await member.browser.get(`/account/workspaces/${lost}`)).json.role).toBe("member");
});
