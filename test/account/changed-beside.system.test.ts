/** Members that another process changes in the workspace's file without telling the daemon, which has them cached. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { cliPrincipal } from "../../src/ops/directory/journal.ts";
import type { Answered } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { serverOfDirectory } from "../support/engine.ts";
import { fileWorkspaces } from "../support/members.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { type Browser, invited, type Person, signUp, tokenOf } from "./browser.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
let founder: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start({ flags: { rate_limit: "1000" } });
  founder = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Cached {
  person: Person;
  workspaceId: string;
  base: string;
  headers: Record<string, string>;
}

/** Another owner of a new workspace, whom the daemon has cached. */
async function cached(): Promise<Cached> {
  const { json } = await founder.browser.post("/account/workspaces", { name: "beside" });
  const workspaceId = json.workspace_id as string;
  const person = await invited({ ...founder, workspaceId }, "owner");
  const headers = { "x-workspace-id": workspaceId };
  const written = await person.browser.post("/v1/data/write", { agent_id: "a", key: "first", value: "v" }, headers);
  expect(written.json.allowed).toBe(true);
  return { person, workspaceId, base: `/account/workspaces/${workspaceId}`, headers };
}

type Send = (by: Browser, of: Cached) => Promise<Answered>;

/** What an owner may do and an auditor may not, or a member without a second factor. */
const CHANGES: [string, Send][] = [
  ["a write", (by, { headers }) => by.post("/v1/data/write", { agent_id: "a", key: "k", value: "v" }, headers)],
  ["a read of a value", (by, { headers }) => by.get("/v1/data/read?agent_id=a&key=first", headers)],
  ["a search", (by, { headers }) => by.post("/v1/data/search", { agent_id: "a", query: "v" }, headers)],
  ["a checkpoint", (by, { headers }) => by.post("/v1/checkpoints", { agent_id: "a" }, headers)],
  ["a new key", (by, { base }) => by.post(`${base}/keys`, {})],
  ["an invitation", (by, { base }) => by.post(`${base}/invitations`, { role: "owner" })],
  ["the removal of a member", (by, { base }) => by.delete(`${base}/members/${founder.accountId}`)],
  ["a requirement", (by, { base }) => by.put(base, { require_second_factor: false })],
];

const READS: [string, Send][] = [
  ["a list of agents", (by, { headers }) => by.get("/v1/agents", headers)],
  ["a query of the trail", (by, { headers }) => by.get("/v1/audit?agent_id=a", headers)],
  ["an export", (by, { headers }) => by.post("/v1/audit/export", { scope: "workspace", format: "ndjson" }, headers)],
  ["findings", (by, { base }) => by.get(`${base}/findings/hour`)],
];

const REFUSALS = ["forbidden", "second_factor_missing", "workspace_mismatch", "workspace_not_found"];

type Change = (of: Cached) => Promise<unknown>;

const workspaces = () => fileWorkspaces(dataDirectory(daemon.dataDir, null, serverOfDirectory(daemon.dataDir)));

const removed: Change = ({ workspaceId, person: { accountId } }) =>
  workspaces().change(cliPrincipal(workspaceId), "member.remove", { accountId });
const lowered: Change = ({ workspaceId, person: { accountId } }) =>
  workspaces().change(cliPrincipal(workspaceId), "member.change", { accountId, role: "auditor" });
const locked: Change = ({ workspaceId }) =>
  workspaces().change(cliPrincipal(workspaceId), "workspace.change", { requiresSecondFactor: true });

describe.each([
  ["a member who was removed", removed, [...CHANGES, ...READS]],
  ["an owner who became an auditor", lowered, CHANGES],
  ["a member who needs a second factor", locked, [...CHANGES, ...READS]],
] as const)("%s", (_who, change, requests) => {
  test.each(requests as [string, Send][])(
    "%s has no effect, though the daemon has the membership cached",
    async (_what, send) => {
      const one = await cached();
      await change(one);
      const view = daemon.viewOf(one.workspaceId);
      const { head } = view;
      // The workspace's thread knows what the main thread does not, which looks the membership up for the next request.
      for (const _ of [1, 2]) {
        const { json } = await send(one.person.browser, one);
        expect({ code: json?.code, isRefusal: REFUSALS.includes(json?.code) }).toMatchObject({ isRefusal: true });
      }
      expect(view.head).toBe(head);
    },
  );
});

test("many at once by a member who is removed: what is recorded is before the removal", async () => {
  const one = await cached();
  const answers: Answered[] = [];
  const writing = Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let number = 0; number < 25; number++) {
        const body = { agent_id: "a", key: `${writer}/${number}`, value: "v" };
        answers.push(await one.person.browser.post("/v1/data/write", body, one.headers));
      }
    }),
  );
  await removed(one);
  await writing;
  const events = daemon
    .viewOf(one.workspaceId)
    .connection.all<[string, string]>("SELECT operation, actor FROM events ORDER BY seq")
    .map(([operation, actor]) => ({ operation, actor }));
  const at = events.findIndex(({ operation }) => operation === "member.remove");
  expect(at).toBeGreaterThan(0);
  const ofPerson = ({ actor }: { actor: string }) => actor === one.person.accountId;
  expect(events.slice(at + 1).filter(ofPerson)).toEqual([]);
  // The account joined, and wrote once before.
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(events.filter(ofPerson).length - 2);
  expect(answers.filter(({ status }) => status !== 200).every(({ status }) => status === 403)).toBe(true);
});
