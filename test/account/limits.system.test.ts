/** Limits on what one account creates hold for any number of requests at the same time. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { OPEN_INVITATIONS_MAX, OWNED_WORKSPACES_MAX } from "../../src/control/accounts/membership.ts";
import { TestDaemon } from "../support/daemon.ts";
import { type Person, signUp, tokenOf } from "./browser.ts";

let daemon: TestDaemon;
let owner: Person;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** How many requests are sent beyond the limit. */
const TOO_MANY = 30;

/** Sends the same request `times` times at once, and counts the answers by their status. */
async function statuses(times: number, path: string, body: object): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: times }, () => owner.browser.post(path, body)));
  const count: Record<string, number> = {};
  for (const { status } of answers) count[status] = (count[status] ?? 0) + 1;
  return count;
}

test("workspaces of an account", async () => {
  const room = OWNED_WORKSPACES_MAX - 1;
  const answered = await statuses(room + TOO_MANY, "/account/workspaces", { name: "one of many" });
  expect(answered).toEqual({ 201: room, 403: TOO_MANY });
  const { json } = await owner.browser.get("/account/workspaces");
  expect(json.data.length).toBe(OWNED_WORKSPACES_MAX);
  const files = readdirSync(join(daemon.dataDir, "workspaces")).filter((name) => name.endsWith(".db"));
  // The other file is the log of the installation.
  expect(files.length).toBe(OWNED_WORKSPACES_MAX + 1);
  const refused = await owner.browser.post("/account/workspaces", { name: "another" });
  expect(refused.json).toMatchObject({
    code: "forbidden",
    detail: expect.stringContaining(`${OWNED_WORKSPACES_MAX} workspaces`),
  });
}, 60_000);

test("open invitations of a workspace", async () => {
  const path = `/account/workspaces/${owner.workspaceId}/invitations`;
  const answered = await statuses(OPEN_INVITATIONS_MAX + TOO_MANY, path, { role: "auditor" });
  expect(answered).toEqual({ 201: OPEN_INVITATIONS_MAX, 403: TOO_MANY });
  expect((await owner.browser.get(path)).json.data.length).toBe(OPEN_INVITATIONS_MAX);
}, 60_000);
