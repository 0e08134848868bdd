/** The official clients of both generations list and call every tool, and read resources. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { assertDeclaresHeaders } from "../http/support/openapi.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent } from "../support/scenario.ts";
import { CLIENT, GENERATIONS, type McpClient } from "./clients.ts";

const SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

let daemon: TestDaemon;
let workspace: TestWorkspace;
beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** The events of the calls since a position, and the details of the last one. */
const eventsSince = (head: number) => workspace.view.eventsAfter(head);

describe.each(Object.entries(GENERATIONS))("%s", (generation, connect) => {
  const ofClient = generation === "2026-07-28" ? { client: CLIENT } : {};

  describe.each(["/v1/mcp", "/v1/mcp/agents/:agent_id"])("%s", (path) => {
    let client: McpClient;
    const agent = freshAgent();
    const hasAgent = path === "/v1/mcp";
    beforeAll(async () => {
      await workspace.client.configure(agent, { policies: { block_secrets: true } });
      client = await connect(workspace.client, { path: path.replace(":agent_id", agent) });
      // The client checks results against the schemas of the tools that it knows.
      await client.tools();
    });
    afterAll(() => client[Symbol.asyncDispose]());

    /** Calls a tool, and returns its value, which is also there as text. */
    async function call(name: string, args: Record<string, unknown> = {}) {
      const head = workspace.view.head;
      const result = await client.call(name, hasAgent ? { agent_id: agent, ...args } : args);
      expect(JSON.parse(result.content[0]?.text as string)).toEqual(result.structuredContent);
      if (!hasAgent) expect(JSON.stringify(result)).not.toContain(agent);
      const events = eventsSince(head);
      for (const event of events) expect(event.details).toMatchObject(ofClient);
      if (generation !== "2026-07-28") expect(events.at(-1)?.details).not.toHaveProperty("client");
      return {
        value: result.structuredContent,
        isError: result.isError ?? false,
        lines: events.map(({ line }) => line),
      };
    }

    test("every tool", async () => {
      expect(
        await call("memory_write", { key: "notes/1", value: "The report is due on Friday.", metadata: { n: 1 } }),
      ).toEqual({
        value: { allowed: true, audit_id: expect.any(String), message: "Stored." },
        isError: false,
        lines: [`${agent} data.write allowed`],
      });
      expect(await call("memory_read", { key: "notes/1" })).toMatchObject({
        value: { key: "notes/1", value: "The report is due on Friday." },
        lines: [`${agent} data.read ok`],
      });
      expect((await call("memory_search", { query: "when is it due", limit: 1 })).value.data[0].key).toBe("notes/1");
      expect(await call("memory_list", { prefix: "notes/" })).toEqual({
        value: { data: [{ key: "notes/1", size: 28 }], has_more: false, next_cursor: null },
        isError: false,
        lines: [`${agent} data.list ok`],
      });
      const { value: checkpoint } = await call("checkpoint_create", { label: "before" });
      expect(checkpoint).toMatchObject({ label: "before", entry_count: 1 });
      expect((await call("checkpoint_list")).value.data).toEqual([checkpoint]);
      expect(await call("memory_delete", { key: "notes/1" })).toMatchObject({ value: { deleted: 1 }, isError: false });
      expect((await call("checkpoint_restore", { id: checkpoint.id })).value).toMatchObject({ entries_restored: 1 });
      expect(await call("policy_check", { value: SECRET })).toMatchObject({
        value: { allowed: false, blocked_by: "policy:block_secrets" },
        isError: false,
        lines: [`${agent} policy.check ok`],
      });
      const { value: trail } = await call("audit_query", { operations: ["data.write", "data.delete"], limit: 10 });
      expect(trail.data.map(({ operation }: { operation: string }) => operation)).toEqual([
        "data.delete",
        "data.write",
      ]);
      expect((await call("audit_query", { operations: "data.write", result: "blocked" })).value.data).toEqual([]);
      expect((await call("audit_verify")).value).toMatchObject({ valid: true });
    });

    test("a blocked write is an error with the answer of the API", async () => {
      const { value, isError, lines } = await call("memory_write", { key: "k", value: SECRET });
      const answer = await workspace.client.write(agent, "k", SECRET);
      expect([value, isError, lines]).toEqual([answer.json, true, [`${agent} data.write blocked`]]);
    });

    test("problems that a model can correct", async () => {
      expect(await call("memory_read", { key: "missing" })).toMatchObject({
        value: { code: "entry_not_found", detail: expect.any(String) },
        isError: true,
      });
      expect(await call("memory_read", { kei: "k" })).toMatchObject({
        value: { code: "invalid_request", param: "kei" },
        isError: true,
        lines: [],
      });
      expect(await call("memory_delete", {})).toMatchObject({ value: { param: "key" }, isError: true });
      expect(await call("checkpoint_restore", { id: "x" })).toMatchObject({ value: { code: "checkpoint_not_found" } });
    });

    test("a write that depends on the version that was read", async () => {
      const write = (rest: object) => call("memory_write", { key: "versioned", ...rest });
      const { value: first } = await write({ value: "1", if_version: null });
      expect((await call("memory_read", { key: "versioned" })).value.audit_id).toBe(first.audit_id);
      const { value: second } = await write({ value: "2", if_version: first.audit_id });
      expect(await write({ value: "3", if_version: first.audit_id })).toMatchObject({
        value: { code: "version_conflict", current_version: second.audit_id },
        isError: true,
        lines: [`${agent} data.write conflict`],
      });
    });

    test("a deletion by prefix needs the right number", async () => {
      for (const key of ["p/1", "p/2"]) await call("memory_write", { key, value: "v" });
      const refused = { value: { code: "count_mismatch", count: 2, param: "confirm_count" }, isError: true };
      expect(await call("memory_delete", { prefix: "p/" })).toMatchObject(refused);
      expect(await call("memory_delete", { prefix: "p/", confirm_count: 1 })).toMatchObject({
        ...refused,
        lines: [`${agent} data.delete_prefix conflict`],
      });
      expect((await call("memory_delete", { prefix: "p/", confirm_count: 2 })).value).toMatchObject({ deleted: 2 });
      expect((await call("memory_delete", { prefix: "p/", confirm_count: 2 })).value).toMatchObject({ deleted: 0 });
    });

    test("resources", async () => {
      await call("memory_write", { key: "a b/ü", value: "text" });
      expect((await client.templates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
        "governd://agents/{agent_id}/entries/{key}",
        "governd://agents/{agent_id}/config",
      ]);
      for (const key of ["a%20b%2F%C3%BC", "a%20b/%C3%BC"]) {
        const uri = `governd://agents/${agent}/entries/${key}`;
        expect((await client.read(uri)).contents).toEqual([{ uri, mimeType: "text/plain", text: "text" }]);
      }
      const [config] = (await client.read(`governd://agents/${agent}/config`)).contents;
      expect(JSON.parse(config?.text as string)).toMatchObject({ config: { policies: { block_secrets: true } } });
      for (const uri of [`governd://agents/${agent}/entries/none`, "governd://agents/%/config", "file:///etc/passwd"]) {
        await expect(client.read(uri)).rejects.toMatchObject({ code: -32602 });
      }
    });

    test("a call that is repeated with its Idempotency-Key is carried out once", async () => {
      const id = "5e1d2a60-1";
      const args = { ...(hasAgent ? { agent_id: agent } : {}), label: "once" };
      const body = { jsonrpc: "2.0", id, method: "tools/call", params: { name: "checkpoint_create", arguments: args } };
      const sent = {
        path: path.replace(":agent_id", agent),
        body,
        headers: { "idempotency-key": `${generation} ${path}`.replaceAll(" ", "") },
      };
      const [first, again] = [await workspace.client.send(sent), await workspace.client.send(sent)];
      expect(first.json.result.structuredContent.label).toBe("once");
      for (const { headers } of [first, again]) assertDeclaresHeaders("POST", sent.path, 200, headers);
      expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    });

    test("a tool that does not exist", async () => {
      await expect(client.call("memory_forget", {})).rejects.toMatchObject({ code: -32602 });
    });
  });
});
