/** The audit trail: queried, read, verified and exported, as it was when the question came. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ExportVerifier } from "../../src/verify/events/export-read.ts";
import type { Answered, Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent, type Scenario, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
  client = workspace.client;
});
afterAll(() => daemon[Symbol.asyncDispose]());

const NO_SUCH = "aud_01h455vb4pex5vsknk084sn02q";
const query =
  (rest: Record<string, string | number> = {}) =>
  ({ agent }: Scene) => ({ path: "/v1/audit", query: { agent_id: agent, ...rest } });
const ask =
  (path: string, rest: object = {}) =>
  ({ agent }: Scene) => ({ path, body: { agent_id: agent, ...rest } });

/** An event of each of several kinds. */
const eventful = async ({ client, agent }: Scene) => {
  await client.configure(agent, { policies: { block_secrets: true } });
  await client.write(agent, "k", "v");
  await client.write(agent, "k", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
  await client.read(agent, "missing");
  await client.configure(agent, {}, { "if-match": '"v9"' });
};
const OPERATIONS = ["config.update", "data.read", "data.write", "data.write", "config.update"];

const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);
const edge = (agent_seq: number) => ({ seq: expect.any(Number), agent_seq, hash: HASH });

const operationsOf = ({ json }: Answered) => json.data.map(({ operation }: { operation: string }) => operation);

describe("querying", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "newest first, and the query itself is not in it",
        given: eventful,
        request: query(),
        status: 200,
        appends: ["agent audit.query ok"],
        details: { count: 5 },
        check: async ({ agent, workspace: { id, view } }, answered) => {
          expect(operationsOf(answered)).toEqual(OPERATIONS);
          const { data } = answered.json;
          expect(data.map(({ agent_seq }: { agent_seq: number }) => agent_seq)).toEqual([5, 4, 3, 2, 1]);
          for (const [i, event] of data.entries()) {
            expect(event).toMatchObject({ agent_id: agent, workspace_id: id, format: "governd.audit/1" });
            expect(event.previous_hash).toBe(data[i + 1]?.hash ?? "0".repeat(64));
            expect(event).toEqual(await view.event(event.id));
          }
        },
      },
      {
        name: "by operation",
        given: eventful,
        request: query({ operations: "data.write,data.read,data.write" }),
        status: 200,
        appends: ["agent audit.query ok"],
        details: { operations: ["data.read", "data.write"], count: 3 },
        check: (_scene, answered) => expect(operationsOf(answered)).toEqual(OPERATIONS.slice(1, 4)),
      },
      ...(
        [
          ["ok", ["config.update"]],
          ["allowed", ["data.write"]],
          ["blocked", ["data.write"]],
          ["not_found", ["data.read"]],
          ["conflict", ["config.update"]],
          ["denied", []],
        ] as const
      ).map(
        ([result, expected]): Scenario => ({
          name: `by result: ${result}`,
          given: eventful,
          request: query({ result }),
          status: 200,
          appends: ["agent audit.query ok"],
          details: { result, count: expected.length },
          check: (_scene, answered) => expect(operationsOf(answered)).toEqual([...expected]),
        }),
      ),
      {
        name: "an agent that never began is empty",
        request: query(),
        status: 200,
        appends: ["- audit.query ok"],
        details: ({ agent }: Scene) => ({ agent_id: agent, count: 0 }),
        body: { data: [], has_more: false },
      },
      {
        name: "the workspace's own events",
        request: () => ({
          path: "/v1/audit",
          query: { scope: "workspace", operations: "workspace.create,key.create" },
        }),
        status: 200,
        appends: ["- audit.query ok"],
        check: (_scene, answered) => {
          expect(operationsOf(answered)).toEqual(["key.create", "workspace.create"]);
          expect(answered.json.data[1]).toMatchObject({ seq: 0, agent_seq: 1, agent_id: null, actor: "cli" });
        },
      },
      ...(
        [
          [{}, "agent_id"],
          [{ agent_id: "a", scope: "workspace" }, "scope"],
          [{ scope: "everything" }, "scope"],
          [{ agent_id: "a", operations: "data.wrote" }, "operations"],
          [{ agent_id: "a", operations: "" }, "operations"],
          [{ agent_id: "a", result: "fine" }, "result"],
          [{ agent_id: "a", start_time: "yesterday" }, "start_time"],
          [{ agent_id: "a", end_time: "2026-02-30T00:00:00Z" }, "end_time"],
          [{ agent_id: "a", start_time: "2026-01-01" }, "start_time"],
        ] as const
      ).map(
        ([asked, param]): Scenario => ({
          name: `refused: ${JSON.stringify(asked)}`,
          request: () => ({ path: "/v1/audit", query: asked }),
          status: 400,
          code: "invalid_request",
          param,
          appends: [],
        }),
      ),
    ],
  );

  test("start_time is inclusive, end_time exclusive, with any offset", async () => {
    const agent = freshAgent();
    await client.write(agent, "k", "1");
    for (let last = ""; last === "" || last === (await newest(agent)).timestamp; ) {
      last ||= (await newest(agent)).timestamp;
      await client.write(agent, "k", "2");
    }
    const { json } = await client.get("/v1/audit", { agent_id: agent, operations: "data.write" });
    const events: { id: string; timestamp: string }[] = json.data;
    const pivot = events[0]?.timestamp as string;
    const ids = async (window: Record<string, string>) =>
      (await client.get("/v1/audit", { agent_id: agent, operations: "data.write", ...window })).json.data.map(
        ({ id }: { id: string }) => id,
      );
    const from = events.filter(({ timestamp }) => timestamp >= pivot).map(({ id }) => id);
    const before = events.filter(({ timestamp }) => timestamp < pivot).map(({ id }) => id);
    expect(before.length).toBeGreaterThan(0);
    expect(await ids({ start_time: pivot })).toEqual(from);
    expect(await ids({ end_time: pivot })).toEqual(before);
    const shifted = new Date(Date.parse(pivot) + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
    expect(await ids({ start_time: shifted })).toEqual(from);
    expect(await ids({ start_time: pivot, end_time: pivot })).toEqual([]);
  });
});

const newest = async (agent: string) =>
  (await client.get("/v1/audit", { agent_id: agent, limit: 1, operations: "data.write" })).json.data[0];

describe("reading one event", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "of an agent, in the agent's chain",
        given: async ({ client, agent }) => (await client.write(agent, "k", "v")).json.audit_id,
        request: ({ made }) => ({ path: `/v1/audit/${made}` }),
        status: 200,
        appends: ["agent audit.read ok"],
        details: ({ made }: Scene) => ({ event_id: made }),
        check: async ({ made, workspace: { view } }, { json }) => {
          expect(json.id).toBe(made);
          expect(json).toEqual(await view.event(made));
        },
      },
      {
        name: "of the workspace itself",
        given: async ({ workspace: { view } }) => view.eventsAfter(-1)[0]?.id,
        request: ({ made }) => ({ path: `/v1/audit/${made}` }),
        status: 200,
        appends: ["- audit.read ok"],
        body: { operation: "workspace.create", seq: 0 },
      },
      ...[NO_SUCH, "aud_x", "cp_01h455vb4pex5vsknk084sn02q", "%20"].map(
        (id): Scenario => ({
          name: `${id}: not found`,
          request: () => ({ path: `/v1/audit/${id}` }),
          status: 404,
          code: "audit_event_not_found",
          appends: ["- audit.read not_found"],
          details: { event_id: decodeURIComponent(id) },
        }),
      ),
    ],
  );
});

describe("verifying", () => {
  scenarios(
    () => workspace,
    [
      {
        name: "an agent's chain, without the verification itself",
        given: eventful,
        request: ask("/v1/audit/verify"),
        status: 200,
        appends: ["agent audit.verify ok"],
        details: { valid: true, chain_intact: true, events_checked: 5 },
        check: ({ agent, workspace: { view } }, { json }) => {
          const chain = view.eventsAfter(-1).filter((event) => event.agentId === agent);
          expect(json).toMatchObject({ valid: true, events_checked: 5, chain_intact: true, first_invalid: null });
          expect(json.chain_start).toMatchObject({ agent_seq: 1, id: chain[0]?.id, seq: chain[0]?.seq });
          expect(json.chain_end).toMatchObject({ agent_seq: 5, id: chain[4]?.id });
        },
      },
      {
        name: "an agent that never began",
        request: ask("/v1/audit/verify"),
        status: 404,
        code: "agent_not_found",
        appends: ["- audit.verify not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent }),
      },
      {
        name: "everything",
        given: async ({ workspace: { view } }) => view.head + 1,
        request: () => ({ path: "/v1/audit/verify", body: { scope: "workspace" } }),
        status: 200,
        appends: ["- audit.verify ok"],
        check: ({ made }, { json }) =>
          expect(json).toMatchObject({ valid: true, events_checked: made, completeness: expect.any(String) }),
      },
      {
        name: "nothing named",
        request: () => ({ path: "/v1/audit/verify", body: {} }),
        status: 400,
        code: "invalid_request",
        param: "agent_id",
        appends: [],
      },
    ],
  );
});

describe("exporting", () => {
  scenarios(
    () => workspace,
    [
      ...(["json", "ndjson", "csv"] as const).map(
        (format): Scenario => ({
          name: `an agent's trail as ${format}`,
          given: eventful,
          request: ask("/v1/audit/export", { format }),
          status: 200,
          appends: ["agent audit.export ok"],
          details: {
            format,
            event_count: 5,
            first: edge(1),
            last: edge(5),
            tree_root: HASH,
            restores: 0,
            vocabulary: 1,
          },
          check: ({ agent, workspace: { id } }, { text, headers }) => {
            expect(headers.get("content-disposition")).toMatch(
              new RegExp(`^attachment; filename="audit-${agent}-\\d{4}-\\d\\d-\\d\\d\\.${format}"$`),
            );
            if (format === "csv") {
              expect(headers.get("content-type")).toMatch(/^text\/csv/);
              expect(text.trimEnd().split(/\r?\n/)).toHaveLength(6);
              return;
            }
            const report = verifyExport(text);
            expect(report).toMatchObject({ valid: true, undetermined: null, eventsChecked: 5, workspaceId: id });
            expect(report.header).toMatchObject({ agent_id: agent, event_count: 5, before: null });
          },
        }),
      ),
      {
        name: "json is the format unless another is named",
        given: eventful,
        request: ask("/v1/audit/export"),
        status: 200,
        appends: ["agent audit.export ok"],
        body: { format: "governd.audit-export/1", event_count: 5 },
        check: (_scene, { headers }) => expect(headers.get("content-type")).toBe("application/json"),
      },
      {
        name: "an agent that never began",
        request: ask("/v1/audit/export"),
        status: 404,
        code: "agent_not_found",
        appends: ["- audit.export not_found"],
        details: ({ agent }: Scene) => ({ agent_id: agent, format: "json" }),
      },
      {
        name: "everything, without the export itself",
        given: async ({ workspace: { view } }) => view.head + 1,
        request: () => ({ path: "/v1/audit/export", body: { scope: "workspace", format: "ndjson" } }),
        status: 200,
        appends: ["- audit.export ok"],
        check: ({ made }, { text }) =>
          expect(verifyExport(text)).toMatchObject({ valid: true, undetermined: null, eventsChecked: made }),
      },
      ...(
        [
          [{ format: "xml" }, "format"],
          [{ format: 1 }, "format"],
          [{ start_time: "now" }, "start_time"],
          [{ agent: "a" }, "agent"],
        ] as const
      ).map(
        ([rest, param]): Scenario => ({
          name: `refused: ${JSON.stringify(rest)}`,
          request: ask("/v1/audit/export", rest),
          status: 400,
          code: "invalid_request",
          param,
          appends: [],
        }),
      ),
    ],
  );

  test("every time window verifies alone, in both formats", async () => {
    const agent = freshAgent();
    for (let i = 0; i < 12; i++) await client.write(agent, `k${i}`, "v");
    const { json } = await client.get("/v1/audit", { agent_id: agent });
    const times: string[] = json.data.map(({ timestamp }: { timestamp: string }) => timestamp).reverse();
    const bounds = [undefined, times[0], times[4], times[8], times[11]];
    for (const start_time of bounds) {
      for (const end_time of bounds) {
        for (const format of ["json", "ndjson"]) {
          const window = { ...(start_time && { start_time }), ...(end_time && { end_time }) };
          const { text, status } = await client.post("/v1/audit/export", { agent_id: agent, format, ...window });
          expect(status).toBe(200);
          const report = verifyExport(text);
          expect(report).toMatchObject({ undetermined: null, problemCount: 0, valid: true });
          expect(report.header?.start_time ?? undefined).toBe(start_time);
          const inside = times.filter((time) => time >= (start_time ?? "") && time < (end_time ?? "~"));
          // The exports made meanwhile lie in an open window too.
          if (end_time !== undefined) expect(report.eventsChecked).toBe(inside.length);
        }
      }
    }
  });

  test("a changed export is found out", async () => {
    const agent = freshAgent();
    await client.write(agent, "k", "v");
    const { text } = await client.post("/v1/audit/export", { agent_id: agent });
    const changed = text.replace('"result":"allowed"', '"result":"blocked"');
    expect(changed).not.toBe(text);
    expect(verifyExport(changed).valid).toBe(false);
  });

  test("an export of many pages is whole", async () => {
    const agent = freshAgent();
    await client.writeAll(
      agent,
      Array.from({ length: 1_200 }, (_, i) => ({ key: `k${i % 7}`, value: "v" })),
    );
    const { text } = await client.post("/v1/audit/export", { agent_id: agent, format: "ndjson" });
    expect(verifyExport(text)).toMatchObject({ valid: true, undetermined: null, eventsChecked: 1_200 });
  });

  test("an export that the client gives up leaves the daemon as it was", async () => {
    const agent = freshAgent();
    // A process has 256 requests in flight at most, and a daemon in it sends its own to a libSQL server.
    for (let at = 0; at < 600; at += 100)
      await Promise.all(Array.from({ length: 100 }, (_, i) => client.write(agent, "k", String(at + i))));
    for (let i = 0; i < 80; i++) {
      const response = await client.open({ path: "/v1/audit/export", body: { agent_id: agent } });
      await response.body?.cancel();
    }
    const { json } = await client.post("/v1/audit/export", { agent_id: agent });
    expect(json.event_count).toBe(680);
  });
});

function verifyExport(text: string) {
  const verifier = new ExportVerifier();
  verifier.push(new TextEncoder().encode(text));
  return verifier.finish();
}
