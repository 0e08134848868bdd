/** A prune waits for sinks, for a while; then they are told what they missed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { governd } from "../cli/governd.ts";
import { eventually } from "../eventually.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { TestReceiver } from "./receiver.ts";

setDefaultTimeout(PROCESS_TEST_MS);

test("a prune keeps what a sink has not delivered; when it no longer waits, the sink gets one gap", async () => {
  using directory = temporaryDirectory();
  await using receiver = await TestReceiver.start();
  await using daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  const { client, view, id } = await daemon.workspace();
  // With a history, the stored versions would keep their events.
  await client.configure("a", { policies: { history_days: 0 } });
  const operations = Array.from({ length: 300 }, (_, i) => ({ op: "write", key: `k${i % 5}`, value: "v" }));
  for (let i = 0; i < 2; i++) await client.post("/v1/data/batch", { agent_id: "a", operations });
  const wish = { type: "webhook", url: receiver.url, ca: receiver.ca, start: 300, enabled: false };
  const { json: sink } = await client.post("/v1/sinks", wish);
  const exported = directory.join("export.ndjson");
  const answer = await client.send({ path: "/v1/audit/export", body: { scope: "workspace", format: "ndjson" } });
  writeFileSync(exported, answer.text);
  const soon = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  const prune = async (...words: string[]) => {
    const common = ["prune", "--workspace", id, "--before", soon, "--data-dir", daemon.dataDir, "--export", exported];
    const { code, out, err } = await governd([...common, "--json", ...words]);
    expect([code, err]).toEqual([0, ""]);
    return JSON.parse(out);
  };
  expect(await prune()).toMatchObject({ before_seq: 256, waiting: { from_seq: 300, sinks: [sink.id] } });
  expect(await prune("--sink-hold-days", "0")).toMatchObject({ before_seq: 512, waiting: null });
  expect(await prune("--yes")).toMatchObject({ before_seq: 256, pruned: true });
  await client.send({ method: "PATCH", path: `/v1/sinks/${sink.id}`, body: { enabled: true } });
  await eventually("all that it waits for arrives", () => receiver.position === view.head);
  expect(receiver.lines.filter(({ type }) => type === "gap")).toEqual([]);
  await eventually("the position is stored", async () => (await prune()).waiting === null);
  expect(await prune("--yes")).toMatchObject({ before_seq: 512, pruned: true });
  await using late = await TestReceiver.start();
  await client.post("/v1/sinks", { ...wish, url: late.url, ca: late.ca, enabled: true });
  await eventually("the rest arrives", () => late.position === view.head);
  expect(late.lines.filter(({ type }) => type === "gap")).toEqual([{ type: "gap", from: 300, to: 511 }]);
  expect(late.events.map(({ seq }) => seq).filter((seq = 0) => seq >= 512)).toEqual(
    Array.from({ length: view.head - 511 }, (_, i) => 512 + i),
  );
});
