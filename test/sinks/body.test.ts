/** The bodies that receivers get: their form, and their length with everything in them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { linesOf, readBatch } from "../../src/follow/sinks/batch.ts";
import { bodyForm, bodyOf } from "../../src/follow/sinks/body.ts";
import type { SinkConfig } from "../../src/follow/sinks/config.ts";
import { SINK_FORMATS, SINK_TYPES } from "../../src/sink.ts";
import { effort } from "../effort.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { sinkWith } from "./config.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const MAX_BYTES = 1024 * 1024;
const EVENTS = 1_100;
/** From one examined beginning of a body to the next, events. */
const STEP = effort({ usual: 25, long: 5 });

let directory: TemporaryDirectory;
let workspace: OpenWorkspace;
beforeAll(async () => {
  directory = temporaryDirectory();
  workspace = await OpenWorkspace.make(directory.path);
  // Keys of all lengths, with what each form escapes in another way.
  const key = (i: number) => `${i}/${'"é\\'.repeat(100 + ((i * 37) % 150))}`;
  const job = (i: number) => workspace.job("data.write", { agentId: "a", key: key(i), value: "v", metadata: {} });
  for (let at = 0; at < EVENTS; at += 100) {
    await workspace.writer.perform(Array.from({ length: 100 }, (_, i) => job(at + i)));
  }
});
afterAll(() => {
  workspace[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const sink = (more: Partial<SinkConfig> = {}): SinkConfig =>
  sinkWith({ workspaceId: workspace.writer.workspaceId, includeDetails: true, ...more });

/** Reads the batch from a position on, and makes its body. */
async function bodyFrom(next: number, config: SinkConfig) {
  const { batch } = await readBatch(workspace.connection, config, { next, toldGapEnd: -1 }, NOW);
  if (batch === null) throw new Error("there are no events");
  const form = bodyForm(config, NOW);
  return { batch, form, body: bodyOf(form, linesOf(batch)) };
}

describe.each([...SINK_TYPES])("%s", (type) => {
  test.each([...SINK_FORMATS])("a body as %s is never longer than 1 MiB, and nearly as long", async (format) => {
    for (let next = 0; next < 300; next += STEP) {
      const { batch, body } = await bodyFrom(next, sink({ type, format }));
      expect(body.length).toBeLessThanOrEqual(MAX_BYTES);
      if (batch.lines.length < 500) expect(body.length).toBeGreaterThan(MAX_BYTES - 10_000);
      expect(batch.lines.length).toBeGreaterThan(100);
    }
  });
});

test("an event that is longer by itself is delivered alone", async () => {
  using own = await OpenWorkspace.make(directory.path);
  const entry = (i: number) => ({ agentId: "a", key: `${i}`, value: "v", metadata: {} });
  for (let i = 0; i < 3; i++) await own.writer.perform([own.job("data.write", entry(i))]);
  own.connection.run("DROP TRIGGER IF EXISTS events_are_kept");
  const long = JSON.stringify({ key: "k".repeat(2 * MAX_BYTES) });
  own.connection.run("UPDATE events SET details = ? WHERE seq = 2", [long]);
  const sizes: number[] = [];
  for (let next = 0; next <= 3; ) {
    const { batch } = await readBatch(own.connection, sink({ type: "syslog" }), { next, toldGapEnd: -1 }, NOW);
    if (batch === null) break;
    sizes.push(batch.lines.length);
    next = batch.to + 1;
  }
  expect(sizes).toEqual([2, 1, 1]);
});

test("CloudEvents are a batch of the HTTP binding: one JSON array, of events with all required attributes", async () => {
  const { body, form, batch } = await bodyFrom(0, sink({ format: "cloudevents" }));
  expect(form.contentType).toBe("application/cloudevents-batch+json");
  const events = JSON.parse(body.toString()) as Record<string, unknown>[];
  expect(events.length).toBe(batch.lines.length + 1);
  expect(new Set(events.map(({ source, id }) => `${source} ${id}`)).size).toBe(events.length);
  for (const event of events) {
    expect(event).toMatchObject({
      specversion: "1.0",
      id: expect.stringMatching(/./),
      source: `/workspaces/${workspace.writer.workspaceId}`,
      type: expect.stringMatching(/^governd\./),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      datacontenttype: "application/json",
      data: expect.any(Object),
    });
    // The names of attributes consist of lower-case letters and digits (CloudEvents 1.0 section 3.1).
    expect(Object.keys(event).filter((name) => !/^[a-z0-9]+$/.test(name))).toEqual([]);
  }
  // What is delivered alone is a batch of one.
  const last = batch.lines.slice(-1);
  expect(JSON.parse(bodyOf(form, last).toString())).toHaveLength(1);
});

test("every other form is one JSON text for each line, or one for all", async () => {
  for (const [type, contentType] of [
    ["webhook", "application/x-ndjson"],
    ["splunk_hec", "application/json"],
    ["file", "application/x-ndjson"],
  ] as const) {
    const { body, form, batch } = await bodyFrom(0, sink({ type }));
    const texts = body.toString().trimEnd().split("\n");
    expect(form.contentType).toBe(contentType);
    expect(texts.map((text) => typeof JSON.parse(text))).toEqual(texts.map(() => "object"));
    expect(texts.length).toBe(batch.lines.length + 1);
  }
  const { body, form } = await bodyFrom(0, sink({ type: "otlp" }));
  expect([form.contentType, Object.keys(JSON.parse(body.toString()))]).toEqual(["application/json", ["resourceLogs"]]);
});
