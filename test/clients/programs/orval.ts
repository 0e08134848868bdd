/** A program with the functions that orval generates. They take the key with each call. */
import { auditQuery, configUpdate, dataList, dataRead, dataWrite } from "../generated/orval.ts";
import type { Seen } from "./seen.ts";

export async function live(_baseUrl: string, key: string): Promise<Seen> {
  const options = { headers: { "X-API-Key": key } };
  const agent_id = "orval";
  const write = async (value: string) => {
    const { status, data } = await dataWrite({ agent_id, key: "a/1", value }, options);
    if (status !== 200) throw new Error(data.code);
    return data;
  };
  const config = await configUpdate(agent_id, { policies: { block_pii: true } }, options);
  const stored = await write("one");
  const blocked = await write("Call +1 415 555 2671.");
  const read = await dataRead({ agent_id, key: "a/1" }, options);
  const list = await dataList({ agent_id, include_values: true }, options);
  const missing = await dataRead({ agent_id, key: "a/2" }, options);
  const events = await auditQuery(
    { agent_id: [agent_id], operations: ["data.write", "data.read"], result: ["blocked", "not_found"] },
    options,
  );
  return {
    enforced: config.status === 200 ? config.data.config.policies?.block_pii : undefined,
    stored: stored.allowed,
    blockedBy: blocked.allowed ? undefined : blocked.blocked_by,
    detectors: blocked.allowed ? [] : blocked.findings.map(({ detector }) => detector),
    value: read.status === 200 ? read.data.value : undefined,
    listed: list.status === 200 ? list.data.data.map((item) => [item.key, item.value]) : undefined,
    missing: missing.status === 404 ? missing.data.code : undefined,
    refusals: events.status === 200 ? events.data.data.map((event) => event.operation) : undefined,
  };
}
