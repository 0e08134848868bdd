/** Sinks are rows of the workspaces' files: what is delivered follows the rows, and the index only wakes the delivery up. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openConnection } from "../../src/store/connection.ts";
import { governd } from "../cli/governd.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon } from "../support/daemon.ts";
import { TEST_ENGINE } from "../support/engine.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { TestReceiver } from "./receiver.ts";

setDefaultTimeout(PROCESS_TEST_MS);

test("nothing is read for a sink after the answer that it is switched off or removed", async () => {
  await using receiver = await TestReceiver.start();
  await using daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  const { client, view } = await daemon.workspace();
  const wish = { type: "webhook", url: receiver.url, ca: receiver.ca, start: "beginning" };
  for (const end of [{ method: "PATCH", body: { enabled: false } }, { method: "DELETE" }]) {
    const { json: sink } = await client.post("/v1/sinks", wish);
    const made = view.head;
    await eventually("its own making arrives", () => receiver.position === made);
    await client.send({ ...end, path: `/v1/sinks/${sink.id}` });
    const [ended, before] = [view.head, receiver.lines.length];
    for (let i = 0; i < 5; i++) await client.post("/v1/data/write", { agent_id: "a", key: `k${i}`, value: "v" });
    const other = (await client.post("/v1/sinks", { ...wish, url: `${receiver.url}&other`, start: view.head })).json;
    await eventually("another sink is delivered to", () => (receiver.position ?? 0) > ended);
    const late = receiver.lines.slice(before).filter(({ seq = -1 }) => seq > ended && seq < view.head - 1);
    expect(late.filter(({ operation }) => operation === "data.write")).toEqual([]);
    await client.send({ method: "DELETE", path: `/v1/sinks/${other.id}` });
  }
});

test("of the sinks of two workspaces with one file, the first one writes it, and the other one when the first is gone", async () => {
  using directory = temporaryDirectory();
  await using daemon = await TestDaemon.start({ flags: { sink_directory: directory.path } });
  const [one, other] = [await daemon.workspace(), await daemon.workspace()];
  const wish = { type: "file", url: "events.ndjson", start: "beginning" };
  const written = () => readFileSync(directory.join("events.ndjson"), "utf8").trimEnd().split("\n");
  const { json: first } = await one.client.post("/v1/sinks", wish);
  await eventually("the first one has come to the end", async () => {
    return (await one.client.get(`/v1/sinks/${first.id}`)).json.lag === 0;
  });
  const { json: second } = await other.client.post("/v1/sinks", { ...wish, url: "Events.ndjson" });
  const shown = async () => (await other.client.get(`/v1/sinks/${second.id}`)).json;
  await eventually("the other one says why it fails", async () => (await shown()).state === "failing");
  expect((await shown()).last_error.message).toContain("another workspace writes this file");
  expect(written().filter((line) => line.includes(other.id))).toEqual([]);
  await one.client.send({ method: "DELETE", path: `/v1/sinks/${first.id}` });
  await eventually("the other one delivers", async () => (await shown()).state === "ok");
});

test.if(TEST_ENGINE === "embedded")(
  "a workspace that the index has lost is found again when it is opened",
  async () => {
    await using receiver = await TestReceiver.start();
    await using daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
    const { client, view, id } = await daemon.workspace();
    await client.post("/v1/sinks", { type: "webhook", url: receiver.url, ca: receiver.ca, start: "beginning" });
    await eventually("the first events arrive", () => receiver.position === view.head);
    await daemon.stop();
    const installation = openConnection(join(daemon.dataDir, "workspaces", `${daemon.installationId}.db`));
    installation.run("DELETE FROM sink_workspaces");
    installation.close();
    await daemon.restart();
    const again = await daemon.clientWith(id, { scope: "full" });
    await again.post("/v1/data/write", { agent_id: "a", key: "k", value: "v" });
    await eventually("the newest event arrives", () => receiver.position === view.head);
    await eventually("its position is stored", async () => (await again.get("/v1/sinks")).json.data[0].lag === 0);
    await daemon.stop();
    const path = join(daemon.dataDir, "workspaces", `${id}.db`);
    const { code, out } = await governd(["verify", path]);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining("not covered: sink_positions: how far each sink has come"),
    ]);
    const file = openConnection(path);
    file.run("UPDATE sinks SET url = 'https://elsewhere.example/'");
    file.close();
    const tampered = await governd(["verify", path]);
    expect([tampered.code, tampered.out]).toEqual([1, expect.stringContaining("row_changed")]);
  },
);
