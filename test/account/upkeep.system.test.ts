/** The state of the installation, for the members of its workspaces. */
import { expect, test } from "bun:test";
import { TestDaemon } from "../support/daemon.ts";
import { Browser, signUp, tokenOf } from "./browser.ts";

test("members see the disk, the certificates and the backups, and nobody else does", async () => {
  await using daemon = await TestDaemon.start();
  const { browser, workspaceId } = await signUp(daemon, tokenOf(daemon.signUpUrl));
  const path = `/account/workspaces/${workspaceId}/upkeep`;
  const { status, json } = await browser.get(path);
  expect(status).toBe(200);
  expect(json.disk).toEqual({ free_bytes: expect.any(Number), total_bytes: expect.any(Number), full: false });
  expect(json.disk.free_bytes).toBeWithin(1, json.disk.total_bytes + 1);
  expect(json.certificates).toEqual([{ role: "server", expires_at: expect.any(String) }]);
  expect(json.backups).toBeNull();
  expect((await new Browser(daemon).get(path)).status).toBe(401);
});
