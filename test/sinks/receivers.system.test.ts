/** Receivers other than webhooks: what arrives there. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { eventually } from "../eventually.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon } from "../support/daemon.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { otlpProblems } from "./otlp.ts";
import { TestReceiver } from "./receiver.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
let files: TemporaryDirectory;
beforeAll(async () => {
  files = temporaryDirectory();
  daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1", sink_directory: files.path } });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

/** Numbers from 0 to the head of a log. */
const upTo = (head: number) => Array.from({ length: head + 1 }, (_, seq) => seq);

test("Splunk gets every event with its time and the token", async () => {
  await using receiver = await TestReceiver.start();
  const { client, view, id } = await daemon.workspace();
  await client.write("a", "confidential", "confidential");
  const { url, ca } = receiver;
  await client.post("/v1/sinks", { type: "splunk_hec", url, ca, token: "hec-token", start: "beginning" });
  const events = () =>
    receiver.lines.map(({ event }) => event as { seq?: number; position?: number; timestamp?: string });
  await eventually("all arrived", () => events().at(-1)?.position === view.head);
  expect(events().flatMap(({ seq = [] }) => seq)).toEqual(upTo(view.head));
  const [first] = receiver.lines;
  expect(first).toMatchObject({ source: id, sourcetype: "governd:governd" });
  expect(Math.round((first?.time as number) * 1_000)).toBe(Date.parse(events()[0]?.timestamp as string));
  expect(receiver.taken[0]?.headers.authorization).toBe("Splunk hec-token");
  expect(receiver.taken.map(({ body }) => body).join("")).not.toContain("confidential");
});

interface LogRecord {
  timeUnixNano: string;
  severityNumber: number;
  body: { stringValue: string };
  attributes: { key: string; value: { stringValue: string } }[];
  traceId?: string;
}

test("an OTLP collector gets log records with their traces, and what it does not accept is told", async () => {
  const partial = JSON.stringify({ partialSuccess: { rejectedLogRecords: "2", errorMessage: "confidential" } });
  await using receiver = await TestReceiver.start(() => ({ status: 200, headers: {}, body: partial }));
  const { client, view } = await daemon.workspace();
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  const body = { agent_id: "a", key: "k", value: "confidential" };
  expect((await client.send({ path: "/v1/data/write", body, headers: { traceparent } })).status).toBe(200);
  const { url, ca } = receiver;
  const { json: sink } = await client.post("/v1/sinks", { type: "otlp", url, ca, start: "beginning" });
  const records = () =>
    receiver.taken.flatMap(({ body: text }) => JSON.parse(text).resourceLogs[0].scopeLogs[0].logRecords as LogRecord[]);
  const bodies = () => records().map((record) => JSON.parse(record.body.stringValue));
  await eventually("all arrived", () => bodies().at(-1)?.position === view.head);
  expect(bodies().flatMap(({ seq = [] }) => seq)).toEqual(upTo(view.head));
  const written = records().find((record) => JSON.parse(record.body.stringValue).operation === "data.write");
  expect(receiver.taken.flatMap(({ body: text }) => otlpProblems(JSON.parse(text)))).toEqual([]);
  const { id, timestamp } = JSON.parse(written?.body.stringValue as string);
  expect(written).toMatchObject({
    timeUnixNano: `${Date.parse(timestamp)}000000`,
    severityNumber: 9,
    attributes: [{ key: "event.id", value: { stringValue: id } }],
    traceId: trace,
  });
  await eventually("it is told", async () => (await client.get(`/v1/sinks/${sink.id}`)).json.position === view.head);
  const { state, last_error: error } = (await client.get(`/v1/sinks/${sink.id}`)).json;
  expect([state, error.message]).toEqual(["ok", "the collector did not accept 2 records of the last delivery"]);
});

test("a file gets every event, goes on in a new one after a rotation, and fails while it is a link", async () => {
  const { client, view } = await daemon.workspace();
  const path = files.join("events.ndjson");
  const linesOf = (name: string) =>
    (existsSync(name) ? readFileSync(name, "utf8") : "")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const has = (name: string, position: number) => linesOf(name).at(-1)?.position === position;
  const wish = { type: "file", url: "events.ndjson", start: "beginning" };
  const { status, json: sink } = await client.post("/v1/sinks", wish);
  expect([status, sink.url]).toEqual([201, "events.ndjson"]);
  await client.write("a", "confidential", "confidential");
  await eventually("all is there", () => has(path, view.head));
  const rotated = `${path}.1`;
  renameSync(path, rotated);
  await client.write("a", "k", "v");
  await eventually("the new file goes on", () => has(path, view.head));
  const lines = [...linesOf(rotated), ...linesOf(path)];
  expect(lines.flatMap(({ seq = [] }) => seq)).toEqual(upTo(view.head));
  expect(JSON.stringify(lines)).not.toContain("confidential");
  rmSync(path);
  symlinkSync(files.join("elsewhere"), path);
  await client.write("a", "k", "v");
  const stateOf = async (asker: Client, id: string) => (await asker.get(`/v1/sinks/${id}`)).json;
  await eventually("it fails", async () => (await stateOf(client, sink.id)).state === "failing");
  expect((await stateOf(client, sink.id)).last_error.message).toContain("the file cannot be written");
  expect(existsSync(files.join("elsewhere"))).toBe(false);
  // Another sink of the workspace is refused the file; that of another workspace never writes into it.
  const again = { ...wish, url: "Events.ndjson" };
  expect((await client.post("/v1/sinks", again)).json).toMatchObject({ param: "url" });
  const other = await daemon.workspace();
  const { status: made, json: second } = await other.client.post("/v1/sinks", again);
  expect(made).toBe(201);
  await eventually("it fails too", async () => (await stateOf(other.client, second.id)).state === "failing");
  const { position, last_error: error } = await stateOf(other.client, second.id);
  expect([position, error.message]).toEqual([null, "a sink of another workspace writes this file: name another one"]);
  expect(existsSync(files.join("Events.ndjson"))).toBe(false);
});
