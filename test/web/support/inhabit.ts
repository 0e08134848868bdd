/** Fills a workspace with what a team would have in it after a while. */
import { join } from "node:path";
import { governdProcess } from "../../cli/governd-process.ts";
import type { Stage } from "./browser.ts";
import { type Kept, OWNER } from "./people.ts";

export interface Inhabited extends Kept {
  checkpointId: string;
  blockedEventId: string;
  /** The event of a write that was read before others. */
  readEventId: string;
  /** The log of the installation, which the owner may read as an operator. */
  installationId: string;
}

export async function inhabit({ daemon, directory }: Stage, kept: Kept): Promise<Inhabited> {
  const send = async (path: string, body?: unknown, method = body === undefined ? "GET" : "POST") => {
    const init = { method, apiKey: kept.apiKey, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await daemon.ask(path, init);
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const write = (agent_id: string, key: string, value: string, metadata: object = {}) =>
    send("/v1/data/write", { agent_id, key, value, metadata });
  const bot = "support-bot";
  await send("/v1/policies", { policies: { screening: { pii: { mode: "audit" } } } }, "PUT");
  const patterns = [{ name: "project_code", regex: "\\bPRJ-[0-9]{5}\\b", mode: "redact", prefixes: ["sources/"] }];
  const exceptions = [{ detector: "email", ends_with: "@example.org", reason: "our own addresses" }];
  const pii = { mode: "audit", detectors: { email: "redact", iban: "block" } };
  const screening = { pii, secrets: { mode: "block" }, patterns, exceptions };
  await send("/v1/policies", { policies: { retention_days: 365, screening } }, "PUT");
  await send(`/v1/config/${bot}`, { model: "small-1", instructions: "Answer politely." }, "PUT");
  await send(
    `/v1/config/${bot}`,
    {
      model: "large-2",
      instructions: "Answer politely and briefly. Never promise a refund; hand those over to a person.",
      policies: { block_pii: true, block_secrets: true, retention_days: 90 },
      temperature: 0.2,
      tools: ["search", "tickets"],
    },
    "PUT",
  );
  const note = await write(bot, "notes/1", "The quarterly report is due on Friday.", {
    source: "calendar",
    confidence: 0.9,
  });
  await write(bot, "notes/2", "Refunds above 500 go to the finance team.");
  await write(bot, "customers/42/note", "Prefers to be called in the morning. Has the large plan.", { source: "crm" });
  await write(bot, "customers/42/plan", "large");
  await write(bot, "customers/57/plan", "small");
  await write(bot, "faq:shipping", "Orders leave the warehouse within two working days.");
  await write(bot, "greeting", "Good morning! How can I help?");
  const checkpoint = await send("/v1/checkpoints", { agent_id: bot, label: "before the new prompt" });
  await send(`/v1/data/read?${new URLSearchParams({ agent_id: bot, key: "notes/1" })}`);
  await write(bot, "greeting", "Hi! What can I do for you?");
  await write(bot, "customers/61/plan", "trial");
  const gone = new URLSearchParams({ agent_id: bot, key: "notes/2" });
  await send(`/v1/data?${gone}`, undefined, "DELETE");
  for (const text of [
    "Call Jane on +1 415 555 2671.",
    "Card 4111 1111 1111 1111",
    "api_key=sk_live_4eC39HqLyjWDarjtT1zdp7dc",
  ]) {
    await write(bot, "customers/42/contact", text);
  }
  await write("nightly-report", "2026/11/20", "All sources were reached.");
  await send("/v1/agents/nightly-report/suspend", { reason: "the source is being moved" });
  await send("/v1/config/research", { model: "large-2", policies: { block_secrets: true } }, "PUT");
  await write("research", "sources/1", "Annual report, chapter 3, for PRJ-10442.");
  await write("research", "sources/2", "Ask jane@example.com, or the office: office@example.org.");
  await write("research", "sources/3", "Call Jane on +1 415 555 2671.");
  const blocked = await send(`/v1/audit?agent_id=${bot}&result=blocked`);
  const [event] = blocked.data as { id: string }[];
  const checkpointId = checkpoint.id as string;
  await makeSink(directory, kept.workspaceId);
  const events = { blockedEventId: event?.id ?? "", readEventId: note.audit_id as string };
  return { ...kept, checkpointId, ...events, installationId: await makeOperator(directory) };
}

/** Makes a sink, to which nothing is delivered. */
async function makeSink(directory: string, workspaceId: string): Promise<void> {
  const where = ["--workspace", workspaceId, "--type", "webhook", "--url", "https://siem.example.org:8443/in"];
  const words = [...where, "--enabled", "off", "--result", "blocked", "--sink-allow", "siem.example.org"];
  const { code, err } = await governdProcess(["sink", "create", ...words, "--data-dir", join(directory, "data")]);
  if (code !== 0) throw new Error(err);
}

/** Makes the owner an operator. Returns the id of the log of the installation. */
async function makeOperator(directory: string): Promise<string> {
  const command = async (...words: string[]) => {
    const { code, err, json } = await governdProcess([...words, "--json", "--data-dir", join(directory, "data")]);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${err}`);
    return json<{ data: { workspace_id: string }[] }>();
  };
  await command("account", "operator", "--email", OWNER.email);
  const { data } = await command("audit", "--installation", "--limit", "1");
  return data[0]?.workspace_id ?? "";
}
