/** Limits on what one account creates hold for any number of requests at the same time. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import type { Job } from "../../src/core/writer/job.ts";
import { FOUNDED_WORKSPACES_MAX } from "../../src/ops/accounts/membership.ts";
import { cliPrincipal, withWriter } from "../../src/ops/directory/journal.ts";
import { memberOperations, OPEN_INVITATIONS_MAX } from "../../src/ops/members/operations.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
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
/** How many of those sent at once are within the limit. */
const LAST = 20;

/** Sends the same request `times` times at once, and counts the answers by their status. */
async function statuses(times: number, path: string, body: object): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: times }, () => owner.browser.post(path, body)));
  const count: Record<string, number> = {};
  for (const { status } of answers) count[status] = (count[status] ?? 0) + 1;
  return count;
}

/**
 * Sends a request as often as there is room, and {@link TOO_MANY} times more. The last ones that fit are sent together
 * with those that do not. Those before are sent a few at a time: the response to the last of a hundred would take longer
 * than a connection lives on a busy machine.
 */
async function fill(room: number, path: string, body: object): Promise<void> {
  for (let left = room - LAST; left > 0; left -= LAST) {
    const few = Math.min(left, LAST);
    expect(await statuses(few, path, body)).toEqual({ 201: few });
  }
  expect(await statuses(LAST + TOO_MANY, path, body)).toEqual({ 201: LAST, 403: TOO_MANY });
}

test(
  "workspaces of an account",
  async () => {
    await fill(FOUNDED_WORKSPACES_MAX - 1, "/account/workspaces", { name: "one of many" });
    const { json } = await owner.browser.get("/account/workspaces");
    expect(json.data.length).toBe(FOUNDED_WORKSPACES_MAX);
    const files = readdirSync(join(daemon.dataDir, "workspaces")).filter((name) => name.endsWith(".db"));
    // The other file is the log of the installation.
    expect(files.length).toBe(FOUNDED_WORKSPACES_MAX + 1);
    const refused = await owner.browser.post("/account/workspaces", { name: "another" });
    expect(refused.json).toMatchObject({
      code: "forbidden",
      detail: expect.stringContaining(`${FOUNDED_WORKSPACES_MAX} workspaces`),
    });
  },
  PROCESS_TEST_MS,
);

test(
  "open invitations of a workspace",
  async () => {
    const path = `/account/workspaces/${owner.workspaceId}/invitations`;
    const { workspaceId } = owner;
    const directory = dataDirectory(daemon.dataDir);
    const input = { role: "auditor", label: null, expiresInDays: 1 } as const;
    const job: Job = {
      operation: "member.invite",
      principal: cliPrincipal(workspaceId),
      run: (reader, context) => memberOperations["member.invite"].run(reader, context, input, undefined),
    };
    await withWriter(directory, sealKeySource(directory, null), workspaceId, (writer) =>
      writer.perform(Array<Job>(OPEN_INVITATIONS_MAX - LAST).fill(job)),
    );
    await fill(LAST, path, { role: "auditor" });
    expect((await owner.browser.get(path)).json.data.length).toBe(OPEN_INVITATIONS_MAX);
  },
  PROCESS_TEST_MS,
);
