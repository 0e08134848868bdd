/** A program with the client that @hey-api/openapi-ts generates. */
import { client } from "../generated/hey-api/client.gen.ts";
import { auditQuery, configUpdate, dataList, dataRead, dataWrite } from "../generated/hey-api/index.ts";
import type { Seen } from "./seen.ts";

export async function live(baseUrl: string, key: string): Promise<Seen> {
  client.setConfig({ baseUrl, auth: () => key });
  const agent_id = "hey-api";
  const write = async (value: string) => {
    const { data } = await dataWrite({ body: { agent_id, key: "a/1", value }, throwOnError: true });
    return data;
  };
  const config = await configUpdate({ path: { agent_id }, body: { policies: { block_pii: true } } });
  const stored = await write("one");
  const blocked = await write("Call +1 415 555 2671.");
  const read = await dataRead({ query: { agent_id, key: "a/1" } });
  const list = await dataList({ query: { agent_id, include_values: true } });
  const missing = await dataRead({ query: { agent_id, key: "a/2" } });
  const events = await auditQuery({
    query: { agent_id: [agent_id], operations: ["data.write", "data.read"], result: ["blocked", "not_found"] },
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
