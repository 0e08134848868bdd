/** The audit trail of a workspace, as an export has it. */
import type { Client } from "../support/client.ts";
import type { TrailEvent } from "./model.ts";

/** The export of a whole workspace, as lines. @throws {Error} when it is refused or not whole */
export async function exportOf(client: Client): Promise<string> {
  const { status, text } = await client.post("/v1/audit/export", { scope: "workspace", format: "ndjson" });
  if (status !== 200 || !text.trimEnd().includes('\n{"type":"trailer"'))
    throw new Error(`the export ended early: ${status}`);
  return text;
}

/** All events of a workspace, in their order. */
export async function trailOf(client: Client): Promise<TrailEvent[]> {
  const lines = (await exportOf(client)).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line)).filter(({ type }) => type === "event");
}
