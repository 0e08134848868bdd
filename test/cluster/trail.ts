/** The audit trail of a workspace, as an export has it. */
import { eventually } from "../eventually.ts";
import type { Answered, Client } from "../support/client.ts";
import type { TrailEvent } from "./model.ts";

/** Asks again while a node answers that it cannot be done just now, as a busy one may after the last disturbance. */
export async function answerOf(client: Client, path: string, body: object): Promise<Answered> {
  let answer = await client.post(path, body);
  await eventually(`${path} is answered`, async () => {
    if (answer.status === 503) answer = await client.post(path, body);
    return answer.status !== 503;
  });
  return answer;
}

/** The export of a whole workspace, as lines. @throws {Error} when it is refused or not whole */
export async function exportOf(client: Client): Promise<string> {
  const { status, text } = await answerOf(client, "/v1/audit/export", { scope: "workspace", format: "ndjson" });
  if (status !== 200 || !text.trimEnd().includes('\n{"type":"trailer"'))
    throw new Error(`the export ended early: ${status}`);
  return text;
}

/** All events of a workspace, in their order. */
export async function trailOf(client: Client): Promise<TrailEvent[]> {
  const lines = (await exportOf(client)).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line)).filter(({ type }) => type === "event");
}
