/** A program with the types that openapi-typescript generates, and openapi-fetch. */
import createClient from "openapi-fetch";
import type { paths } from "../generated/openapi-typescript.ts";
import type { Seen } from "./seen.ts";

export async function live(baseUrl: string, key: string): Promise<Seen> {
  const { GET, POST, PUT } = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
  const agent_id = "openapi-typescript";
  const write = async (value: string) => {
    const { data, error } = await POST("/v1/data/write", { body: { agent_id, key: "a/1", value } });
    if (data === undefined) throw new Error(error.code);
    return data;
  };
  const config = await PUT("/v1/config/{agent_id}", {
    params: { path: { agent_id } },
    body: { policies: { block_pii: true } },
  });
  const stored = await write("one");
  const blocked = await write("Call +1 415 555 2671.");
  const read = await GET("/v1/data/read", { params: { query: { agent_id, key: "a/1" } } });
  const list = await GET("/v1/data/list", { params: { query: { agent_id, include_values: true } } });
  const missing = await GET("/v1/data/read", { params: { query: { agent_id, key: "a/2" } } });
  const events = await GET("/v1/audit", {
    params: {
      query: { agent_id: [agent_id], operations: ["data.write", "data.read"], result: ["blocked", "not_found"] },
    },
  });
  return {
    enforced: config.data?.config.policies?.block_pii,
    stored: stored.allowed,
    blockedBy: blocked.allowed ? undefined : blocked.blocked_by,
    detectors: blocked.allowed ? [] : blocked.findings.map(({ detector }) => detector),
    value: read.data?.value,
    listed: list.data?.data.map((item) => [item.key, item.value]),
    missing: missing.error?.code,
    refusals: events.data?.data.map((event) => event.operation),
  };
}
