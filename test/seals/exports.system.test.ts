/** Views for other systems, and exports that break off and are continued. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ocsfProblems } from "../log/ocsf.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
const agent_id = "exported";

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  await workspace.client.configure(agent_id, { policies: { block_pii: true } });
  for (let i = 0; i < 12; i++) await workspace.client.write(agent_id, `k${i}`, `value ${i}`);
  await workspace.client.write(agent_id, "mail", "card 4111 1111 1111 1111");
  await workspace.client.send({ method: "DELETE", path: "/v1/data", query: { agent_id, key: "k1" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const exported = (format: string, rest: object = {}) =>
  workspace.client.send({ path: "/v1/audit/export", body: { agent_id, format, ...rest } });

test("cloudevents: one CloudEvent 1.0 a line", async () => {
  const { status, headers, text } = await exported("cloudevents");
  expect(status).toBe(200);
  expect(headers.get("content-disposition")).toContain(".cloudevents.ndjson");
  const events = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events).toHaveLength(15);
  for (const event of events) {
    expect(event).toMatchObject({
      specversion: "1.0",
      source: `/workspaces/${workspace.id}`,
      subject: agent_id,
      datacontenttype: "application/json",
    });
    expect(event.type).toBe(`governd.audit.${event.data.operation}`);
    expect(event.id).toBe(event.data.id);
    expect(event.time).toBe(event.data.timestamp);
  }
});

test("ocsf: one event a line, that follows the schema", async () => {
  const { text } = await exported("ocsf");
  const events = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const event of events) {
    expect(ocsfProblems(event)).toEqual([]);
    expect(event.time).toBe(Date.parse(event.unmapped.timestamp));
  }
  const types = events.map(({ metadata, type_uid, status_id }) => [metadata.event_code, type_uid, status_id]);
  expect(types[0]).toEqual(["config.update", 300403, 1]);
  expect(types).toContainEqual(["data.write", 600505, 1]);
  expect(types).toContainEqual(["data.write", 600505, 2]);
  expect(types).toContainEqual(["data.delete", 600507, 1]);
});

describe("an export that broke off", () => {
  for (const format of ["json", "ndjson", "csv", "cloudevents", "ocsf"]) {
    for (const received of [0, 1, 7]) {
      test(`in ${format} after ${received} events joins on byte for byte`, async () => {
        const whole = await exported(format);
        const cursor = whole.headers.get("x-export-cursor") ?? "";
        // What has happened since is not in it.
        await workspace.client.write(agent_id, "later", "v");
        const rest = await exported(format, { cursor: `${cursor}.${received}` });
        expect(rest.status).toBe(200);
        const lines = whole.text.split("\n");
        const header = ["json", "ndjson", "csv"].includes(format) ? 1 : 0;
        const kept = received === 0 ? "" : lines.slice(0, header + received).join("\n");
        // In json the comma stands before each further event, at the end of the line before it.
        const joined = format === "json" || received === 0 ? kept.replace(/,$/, "") : `${kept}\n`;
        expect(joined + rest.text).toBe(whole.text);
      });
    }
  }

  test("cannot be continued as another one", async () => {
    const cursor = (await exported("ndjson")).headers.get("x-export-cursor") ?? "";
    for (const [format, wrong] of [
      ["json", `${cursor}.1`],
      ["ndjson", cursor],
      ["ndjson", `${cursor}.x`],
      ["ndjson", `A${cursor}.1`],
    ] as const) {
      const answer = await exported(format, { cursor: wrong });
      expect([answer.status, answer.json.param]).toEqual([400, "cursor"]);
    }
  });
});
