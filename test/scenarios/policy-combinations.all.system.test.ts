/**
 * Drawn combinations of the workspace's policies, an agent's config, exceptions, limits, a content and an operation:
 * what is answered, stored, recorded and in force is what the oracle says, also while everything changes. What was
 * replaced or refused is then nowhere in the files, in the log, or in anything else that comes from the daemon.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DaemonApi } from "../../src/cli/data/api.ts";
import { importEntries } from "../../src/cli/data/import.ts";
import type { JsonObject } from "../../src/json.ts";
import { governd } from "../cli/governd.ts";
import { effort } from "../effort.ts";
import { eventually } from "../eventually.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import type { Answered, Client, Sent } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { KINDS, plantedIn } from "../support/planted.ts";
import {
  type Content,
  drawContent,
  drawFloor,
  drawPolicies,
  type Form,
  plant,
  storedOf,
} from "../support/policy-draws.ts";
import {
  type Finding,
  type Force,
  modeOf,
  type Policies,
  partsInForce,
  type Verdict,
  verdictOf,
  type Wish,
  type WorkspacePolicies,
} from "../support/policy-oracle.ts";
import { freshAgent } from "../support/scenario.ts";
import type { SeenEvent } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;
let directory: TemporaryDirectory;
/** What the stream of events has sent. */
let streamed = "";
/** What must be nowhere, and what a policy or an earlier entry says. */
const hidden = new Set<string>();
const said = new Set<string>();

const SINKS = ["governd", "cloudevents", "ocsf"] as const;

beforeAll(async () => {
  directory = temporaryDirectory();
  for (const name of ["sinks", "imports"]) mkdirSync(directory.join(name));
  const flags = { log_level: "debug", metrics_listen: "127.0.0.1:0", sink_directory: directory.join("sinks") };
  daemon = await TestDaemon.start({ flags });
  workspace = await daemon.workspace();
  ({ client } = workspace);
  for (const format of SINKS) {
    const sink = { type: "file", url: `${format}.ndjson`, format, include_details: true, start: "beginning" };
    expect((await client.post("/v1/sinks", sink)).status).toBe(201);
  }
  const stream = await client.open({ path: "/v1/audit/stream", query: { scope: "workspace" } });
  stream.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeTo(
      new WritableStream({
        write(piece) {
          streamed += piece;
        },
      }),
    )
    .catch(() => {});
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

async function setFloor(floor: WorkspacePolicies): Promise<string> {
  const { status, json } = await client.send({ method: "PUT", path: "/v1/policies", body: floor });
  expect(status).toBe(200);
  return json.version;
}

async function setConfig(agent: string, policies: Policies | null): Promise<void> {
  if (policies !== null) expect((await client.configure(agent, { policies })).status).toBe(200);
}

/** One combination. */
interface Trial {
  seeded: Seeded;
  agent: string;
  content: Content;
  force: Force;
  /** The version of the workspace's policies. */
  version: string;
}

const WRITTEN: Form = { valueName: "value", hasKey: true, hasMetadata: true };

/** Draws a combination, and puts it in force. `before` runs first, while the workspace demands nothing. */
async function drawn(
  seeded: Seeded,
  form: Form,
  before: (agent: string, content: Content) => Promise<unknown> = async () => {},
): Promise<Trial> {
  const content = drawContent(seeded, form);
  const floor = drawFloor(seeded, content);
  const config = seeded.weighted([
    [2, null],
    [1, {}],
    [6, drawPolicies(seeded, content)],
  ]) as Policies | null;
  for (const { screening } of [floor.policies ?? {}, config ?? {}])
    for (const { equals = "" } of screening?.exceptions ?? []) said.add(equals);
  const agent = freshAgent();
  await setFloor({});
  await before(agent, content);
  const version = await setFloor(floor);
  await setConfig(agent, config);
  return { seeded, agent, content, version, force: { floor, config, nowMs: Date.now() } };
}

/** A write of the content as the agent's first entry, with what differs. */
const requestOf = ({ key, value, matches }: Content, more: Partial<Wish> = {}): Wish => ({
  key,
  matches,
  bytes: Buffer.byteLength(value),
  entries: 1,
  writes: 1,
  isReplaceable: true,
  needsConfig: true,
  ...more,
});

/** Notes the texts of a content that must be nowhere. A key in which nothing is found is named by the event. */
function hide({ matches, texts }: Content, { allowed, findings, replaced }: Verdict): void {
  const isNamed = !findings.some(({ field }) => field === "key");
  const named = matches.flatMap(({ field, text }) => (field === "key" && isNamed ? [text] : []));
  const gone = allowed ? replaced.map(({ text }) => text as string) : texts;
  for (const text of gone) if (!named.includes(text)) hidden.add(text);
}

/** What a replay says of a verdict. */
function outcomeOf({ allowed, findings, replaced }: Verdict) {
  if (!allowed) return "would_block";
  if (replaced.length > 0) return "would_redact";
  return findings.length > 0 ? "would_audit" : "unchanged";
}

const inOrder = (findings: Finding[]): string[] =>
  findings
    .map(({ policy, detector, field, start, end, mode }) => `${field} ${start} ${end} ${policy} ${detector} ${mode}`)
    .sort();

/** The findings that something has; null without the member. */
const findingsIn = (one: JsonObject | null | undefined): string[] | null =>
  one?.findings === undefined ? null : inOrder(one.findings as unknown as Finding[]);

/** The answer of a write is as the verdict says, and repeats no text. */
function expectAnswer(answer: JsonObject, verdict: Verdict, { texts }: Content): void {
  const { allowed, blockedBy, isLater, findings, replaced } = verdict;
  const { findings: _, message, audit_id, retry_after_seconds: later, redacted_value, ...rest } = answer;
  expect(rest).toEqual(
    allowed
      ? { allowed, ...(replaced.length > 0 && { redacted: true }) }
      : { allowed, blocked_by: blockedBy as string },
  );
  expect(findingsIn(answer)).toEqual(allowed && findings.length === 0 ? null : inOrder(findings));
  expect(typeof later).toBe(isLater && !allowed ? "number" : "undefined");
  expect(typeof message).toBe("string");
  for (const text of texts) expect(JSON.stringify({ ...answer, redacted_value: null })).not.toContain(text);
}

/** The details of an event are those that the verdict says, beside `rest`. */
function expectDetails(
  { details }: Pick<SeenEvent, "details">,
  { allowed, isLater, findings, replaced, excepted }: Verdict,
  rest: JsonObject,
): void {
  const {
    findings: _,
    retry_after_seconds: later,
    limit: _limit,
    value_digest: digest,
    ...named
  } = details as JsonObject;
  expect(named).toEqual({
    ...(allowed && replaced.length > 0 && { redacted: true }),
    ...(Object.keys(excepted).length > 0 && { excepted }),
    ...rest,
  });
  expect(findingsIn(details as JsonObject)).toEqual(allowed && findings.length === 0 ? null : inOrder(findings));
  expect(later !== undefined).toBe(isLater && !allowed);
}

/** The events behind a position, none of which has a text that must be nowhere. */
function eventsAfter(head: number, ...contents: Content[]): SeenEvent[] {
  const events = workspace.view.eventsAfter(head);
  const text = JSON.stringify(events);
  for (const one of contents.flatMap(({ texts }) => texts)) if (hidden.has(one)) expect(text).not.toContain(one);
  return events;
}

/** The event of a write is as the verdict says. */
function expectWriteEvent(
  event: SeenEvent | undefined,
  verdict: Verdict,
  { agent, version, content }: Trial,
  via = {},
): void {
  expect(event?.line).toBe(`${agent} data.write ${verdict.allowed ? "allowed" : "blocked"}`);
  const isNamed = verdict.allowed || !verdict.findings.some(({ field }) => field === "key");
  const rest = { ...(isNamed && { key: content.key }), policies_version: version, ...via };
  expectDetails(event as SeenEvent, verdict, rest);
  expect(event?.details?.value_digest !== undefined).toBe(verdict.allowed);
}

/** What is stored under the content's key is what the verdict says, or what was there before. */
async function expectStored({ agent, content }: Trial, verdict: Verdict, before: string | null = null): Promise<void> {
  const { status, json } = await client.get("/v1/data/read-full", { agent_id: agent, key: content.key });
  if (verdict.allowed) expect([json.value, json.metadata]).toEqual(Object.values(storedOf(content, verdict.replaced)));
  else expect([status, json.value ?? null]).toEqual([before === null ? 404 : 200, before]);
}

/** In what is stored after replacements, the policies find only what they report. */
async function expectNoMore({ agent, content }: Trial, { findings, replaced }: Verdict): Promise<void> {
  const stored = { key: content.key, ...storedOf(content, replaced) };
  const { json } = await client.post("/v1/policies/check", { agent_id: agent, ...stored });
  const modes = ((json.findings ?? []) as Finding[]).map(({ mode }) => mode);
  expect(modes).toEqual(findings.filter(({ mode }) => mode === "audit").map(({ mode }) => mode));
}

/** The agent has no entry. A read would name a key in which nothing is found. */
const expectNothing = async (agent: string) =>
  expect((await client.get("/v1/data/list", { agent_id: agent })).json.data).toEqual([]);

const bodyOf = ({ agent, content: { key, value, metadata } }: Trial) => ({ agent_id: agent, key, value, metadata });

/** Writes the content, and expects what becomes of it. */
async function expectWrite(trial: Trial, more: Partial<Wish> = {}, before: string | null = null): Promise<void> {
  const { content } = trial;
  const verdict = verdictOf(trial.force, requestOf(content, more));
  hide(content, verdict);
  const { head } = workspace.view;
  const { status, json } = await client.post("/v1/data/write", bodyOf(trial));
  expect(status).toBe(200);
  expectAnswer(json, verdict, content);
  const events = eventsAfter(head, content);
  expect(events).toHaveLength(1);
  expectWriteEvent(events[0], verdict, trial);
  await expectStored(trial, verdict, before);
  if (verdict.allowed) await expectNoMore(trial, verdict);
}

/** A message of MCP, of the generation with `initialize`. */
const olderMessage = (path: string, method: string, params: JsonObject): Sent => ({
  path,
  body: { jsonrpc: "2.0", id: 1, method, params },
  headers: { "mcp-protocol-version": "2025-11-25" },
});

/** A call of a tool, of the generation without it. */
function statelessCall(path: string, params: JsonObject, more: JsonObject = {}): Sent {
  const meta = { protocolVersion: "2026-07-28", clientCapabilities: {}, ...more };
  const _meta = Object.fromEntries(
    Object.entries(meta).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]),
  );
  const headers = { "mcp-method": "tools/call", "mcp-name": params.name as string };
  return {
    path,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta } },
    headers: { "mcp-protocol-version": "2026-07-28", ...headers },
  };
}

/** A call of a tool at one of the endpoints, in the form of one of the generations. */
function callOf(name: string, { agent, seeded }: Trial, args: JsonObject): Sent {
  const path = seeded.chance(0.5) ? `/v1/mcp/agents/${agent}` : "/v1/mcp";
  const params: JsonObject = { name, arguments: path === "/v1/mcp" ? { agent_id: agent, ...args } : args };
  return seeded.chance(0.5) ? olderMessage(path, "tools/call", params) : statelessCall(path, params);
}

/** A content that nothing objects to, as a write of a batch. */
const clean = (key: string): Content => ({ key, value: "fine", metadata: {}, matches: [], texts: [] });

/** Makes some of the contents so long that another thread decides about them. */
function lengthen(seeded: Seeded, content: Content, share = 0.3): void {
  if (seeded.chance(share)) content.value += " And so on.".repeat(1_000);
}

/** What each kind of operation does with a content, and what is then expected. */
const OPERATIONS: Readonly<Record<string, (seeded: Seeded) => Promise<void>>> = {
  "a write": async (seeded) => expectWrite(await drawn(seeded, WRITTEN)),

  "a long write, about which another thread decides": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    lengthen(seeded, trial.content, 1);
    await expectWrite(trial);
  },

  "a write over another entry": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN, async (agent, { key, texts }) => {
      for (const text of texts) if (key.includes(text)) said.add(text);
      await client.write(agent, key, "earlier");
    });
    await expectWrite(trial, { entries: 0, writes: 2 }, "earlier");
  },

  "a write whose precondition fails": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    for (const text of trial.content.texts) if (!trial.content.key.includes(text)) hidden.add(text);
    const { head } = workspace.view;
    const { status, text } = await client.post("/v1/data/write", {
      ...bodyOf(trial),
      if_version: "aud_01m8ejfa23e9br3pm54a724e10",
    });
    expect(status).toBe(412);
    for (const one of trial.content.texts) expect(text).not.toContain(one);
    const [event] = workspace.view.eventsAfter(head);
    expect(event?.result).toBe("conflict");
    expect(event?.details).not.toHaveProperty("findings");
    expectNamed(trial, event, "key", trial.content.key, trial.content);
  },

  "a write that is sent again under other policies": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const { content } = trial;
    const verdict = verdictOf(trial.force, requestOf(content));
    hide(content, verdict);
    const headers = { "idempotency-key": `retry-${trial.agent}` };
    const send = () => client.send({ path: "/v1/data/write", body: bodyOf(trial), headers });
    const first = await send();
    expectAnswer(first.json, verdict, content);
    for (const later of [{}, { policies: { block_pii: true, block_secrets: true } }]) {
      await setFloor(later);
      const { head } = workspace.view;
      const again = await send();
      expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
      expect(workspace.view.head).toBe(head);
    }
    await setFloor(trial.force.floor);
    await expectStored(trial, verdict);
  },

  "a batch": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const { agent, content, force, version } = trial;
    const atomic = seeded.chance(0.5);
    lengthen(seeded, content);
    const contents = [clean("before"), content, clean("after")];
    // Later operations see the effects of earlier ones.
    let stored = 0;
    const verdicts = contents.map((one) => {
      const verdict = verdictOf(force, requestOf(one, { entries: stored + 1, writes: stored + 1 }));
      if (verdict.allowed) stored += 1;
      return verdict;
    });
    const isApplied = !atomic || verdicts.every(({ allowed }) => allowed);
    hide(content, isApplied ? (verdicts[1] as Verdict) : { ...(verdicts[1] as Verdict), allowed: false });
    const { head } = workspace.view;
    const operations = contents.map(({ key, value, metadata }) => ({ op: "write", key, value, metadata }));
    const { json } = await client.post("/v1/data/batch", { agent_id: agent, atomic, operations });
    expect(json.applied).toBe(isApplied);
    const events = eventsAfter(head, content);
    for (const [at, verdict] of verdicts.entries()) {
      const one = contents[at] as Content;
      if (!isApplied && verdict.allowed) expect(json.results[at]).toEqual({ skipped: true });
      else {
        expectAnswer(json.results[at], verdict, one);
        expectWriteEvent(events.shift(), verdict, { ...trial, content: one, version });
      }
      await expectStored({ ...trial, content: one }, isApplied ? verdict : { ...verdict, allowed: false });
    }
    expect(events).toEqual([]);
  },

  "a tool": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const { content } = trial;
    const verdict = verdictOf(trial.force, requestOf(content));
    hide(content, verdict);
    const { head } = workspace.view;
    const { agent_id: _, ...args } = bodyOf(trial);
    const { json } = await client.send(callOf("memory_write", trial, args));
    const { structuredContent: answer, content: shown, isError = false } = json.result;
    expectAnswer(answer, verdict, content);
    expect([isError, JSON.parse(shown[0].text)]).toEqual([!verdict.allowed, answer]);
    expectWriteEvent(eventsAfter(head, content)[0], verdict, trial);
    await expectStored(trial, verdict);
  },

  "an import": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const { agent, content } = trial;
    const verdict = verdictOf(trial.force, requestOf(content));
    // It would wait for a minute.
    if (verdict.isLater && !verdict.allowed) return;
    hide(content, verdict);
    const file = directory.join("imports", `${agent}.ndjson`);
    const { key, value, metadata } = content;
    writeFileSync(file, `${JSON.stringify({ key, value, metadata })}\n{"key":"${key}","value":\n`);
    const api = new DaemonApi({ url: daemon.url, tls: { ca: [daemon.ca] } }, client.apiKey);
    const states: string[] = [];
    const note = async () => void states.push(readFileSync(`${file}.import.json`, "utf8"));
    const done = await importEntries(api, { file, agent, keep: false, resume: false }, note);
    expect([done.written, done.refused]).toEqual(verdict.allowed ? [1, 1] : [0, 2]);
    const output = JSON.stringify([done, states]);
    for (const text of content.texts) expect(output).not.toContain(text);
    await expectStored(trial, verdict);
  },

  "a check": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const { content, version, agent } = trial;
    lengthen(seeded, content);
    const verdict = verdictOf(trial.force, requestOf(content));
    for (const text of content.texts) hidden.add(text);
    const { head } = workspace.view;
    const isTool = seeded.chance(0.3) && content.matches.every(({ field }) => field === "value") && content.key !== "";
    const { json } = await client.post("/v1/policies/check", bodyOf(trial));
    expectAnswer(json, verdict, content);
    const isReplaced = verdict.allowed && verdict.replaced.length > 0;
    expect(json.redacted_value).toBe(isReplaced ? storedOf(content, verdict.replaced).value : undefined);
    const [event] = eventsAfter(head, content);
    const stated = verdict.allowed ? { allowed: true } : { allowed: false, blocked_by: verdict.blockedBy as string };
    const inChain = trial.force.config === null ? { agent_id: agent } : {};
    expectDetails(event as SeenEvent, verdict, { ...stated, ...inChain, under: "agent", policies_version: version });
    await expectNothing(agent);
    // It did not count as a write.
    const after = clean("after");
    const { json: written } = await client.write(agent, after.key, after.value);
    expect(written.allowed).toBe(verdictOf(trial.force, requestOf(after)).allowed);
    if (isTool) expect((await client.send(callOf("policy_check", trial, { value: content.value }))).status).toBe(200);
  },

  "a check under other policies": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const { content } = trial;
    const policies = drawPolicies(seeded, content);
    for (const { equals = "" } of policies.screening?.exceptions ?? []) said.add(equals);
    const verdict = verdictOf({ ...trial.force, floor: {}, config: policies }, requestOf(content));
    // The exceptions of a check are not stored either.
    for (const text of content.texts) hidden.add(text);
    const { json } = await client.post("/v1/policies/check", { ...bodyOf(trial), policies });
    expectAnswer(json, verdict, content);
    await expectNothing(trial.agent);
  },

  "a label": async (seeded) => {
    const trial = await drawn(seeded, { valueName: "label", hasKey: false, hasMetadata: true });
    const { agent, content, version } = trial;
    const body = { agent_id: agent, label: content.value, metadata: content.metadata };
    await expectKept(trial, { path: "/v1/checkpoints", body }, "checkpoint.create", (json, details) => {
      expect([json.label, json.metadata]).toEqual([content.value, content.metadata]);
      const { checkpoint_id, as_of_seq, entry_count, label, metadata, ...rest } = details;
      expect([label, metadata]).toEqual([content.value, content.metadata]);
      return { ...rest, policies_version: version };
    });
  },

  "a reason": async (seeded) => {
    const form = { valueName: "reason", hasKey: false, hasMetadata: false } as const;
    const trial = await drawn(seeded, form, (agent) => client.configure(agent, {}));
    // It has a config of its own at least.
    trial.force.config ??= {};
    const { agent, content } = trial;
    const to = seeded.pick(["suspend", "resume"]);
    const body = { reason: content.value };
    await expectKept(trial, { path: `/v1/agents/${agent}/${to}`, body }, `agent.${to}`, (_json, details) => {
      const { reason, state_before, ...rest } = details;
      expect([reason, state_before]).toEqual([content.value, "active"]);
      return rest;
    });
    const { state } = (await client.get(`/v1/agents/${agent}`)).json;
    const isKept = verdictOf(trial.force, keptWish(content)).allowed;
    expect(state).toBe(to === "suspend" && isKept ? "suspended" : "active");
  },

  "a restore": async (seeded) => {
    let checkpoint = "";
    const isConfigured = seeded.chance(0.5);
    const trial = await drawn(seeded, WRITTEN, async (agent, content) => {
      lengthen(seeded, content);
      const { key, value, metadata } = content;
      if (isConfigured) await client.configure(agent, {});
      expect((await client.write(agent, key, value, metadata)).json.allowed).toBe(true);
      checkpoint = (await client.checkpoint(agent)).json.id;
      await client.write(agent, key, "later");
    });
    const { agent, content, version } = trial;
    const restoresConfig = seeded.chance(0.5);
    // Without policies of its own, the agent still has a config if it had one before.
    const present = trial.force.config ?? (isConfigured ? {} : null);
    const config = restoresConfig && isConfigured ? {} : present;
    const verdict = verdictOf(
      { ...trial.force, config },
      requestOf(content, { isReplaceable: false, entries: 0, writes: 0 }),
    );
    const { head } = workspace.view;
    const path = `/v1/checkpoints/${checkpoint}/restore`;
    const { status, json, text } = await client.post(path, { restore_config: restoresConfig });
    const [event] = workspace.view.eventsAfter(head);
    if (verdict.allowed) {
      expect([status, json.entries_restored]).toEqual([200, 1]);
      expect(findingsIn(json)).toEqual(verdict.findings.length === 0 ? null : inOrder(verdict.findings));
    } else {
      expect([status, json.code, json.blocked_by]).toEqual([409, "restore_blocked", verdict.blockedBy]);
      // What lacks a config is refused before anything is read.
      if (verdict.blockedBy !== "policy:require_config") expect(findingsIn(json)).toEqual(inOrder(verdict.findings));
      const isAboutKey = verdict.findings.some(({ field }) => field === "key");
      for (const one of content.texts) if (isAboutKey || !content.key.includes(one)) expect(text).not.toContain(one);
    }
    expect(event?.line).toBe(`${agent} checkpoint.restore ${verdict.allowed ? "ok" : "blocked"}`);
    expect(event?.details?.policies_version).toBe(version);
    const details = JSON.stringify(event?.details);
    for (const one of content.texts) expect(details).not.toContain(one);
    const { json: full } = await client.get("/v1/data/read-full", { agent_id: agent, key: content.key });
    expect(full.value).toBe(verdict.allowed ? content.value : "later");
  },

  "a rollback, and a write": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN, (agent) => client.configure(agent, {}));
    const { agent } = trial;
    const back = seeded.chance(0.5);
    const strict = { policies: { block_pii: true, block_secrets: true } };
    await client.configure(agent, strict);
    // To the first version, which demands nothing, or to the last but one.
    const to = back ? "v1" : trial.force.config === null ? "v1" : "v2";
    expect((await client.post(`/v1/config/${agent}/rollback`, { version: to })).status).toBe(200);
    if (to === "v1") trial.force.config = {};
    await expectWrite(trial);
  },

  "a restored config, and a write": async (seeded) => {
    let checkpoint = "";
    const trial = await drawn(seeded, WRITTEN, async (agent) => {
      await client.configure(agent, {});
      checkpoint = (await client.checkpoint(agent)).json.id;
    });
    const restored = await client.post(`/v1/checkpoints/${checkpoint}/restore`, { restore_data: false });
    expect(restored.status).toBe(200);
    trial.force.config = {};
    await expectWrite(trial);
  },

  "a replay": async (seeded) => {
    await setFloor({});
    const agent = freshAgent();
    const contents = Array.from({ length: 3 }, () => drawContent(seeded, WRITTEN));
    for (const { key, value, metadata } of contents) await client.write(agent, key, value, metadata);
    const policies = drawPolicies(seeded, seeded.pick(contents));
    const force = { floor: {}, config: policies, nowMs: Date.now() };
    const verdicts = contents.map((one) => verdictOf(force, requestOf(one, { entries: 0, writes: 0 })));
    const { json, text } = await client.post("/v1/policies/replay", { agent_id: agent, policies });
    const counted = { unchanged: 0, would_block: 0, would_redact: 0, would_audit: 0 };
    for (const verdict of verdicts) counted[outcomeOf(verdict)] += 1;
    expect(json).toMatchObject({ examined: contents.length, ...counted });
    const found = contents.flatMap(({ key }, at) => {
      const verdict = verdicts[at] as Verdict;
      return outcomeOf(verdict) === "unchanged" ? [] : [`${key} ${inOrder(verdict.findings)}`];
    });
    const samples = json.samples as { key: string; findings: Finding[] }[];
    expect(samples.map(({ key, findings }) => `${key} ${inOrder(findings)}`).sort()).toEqual(found.sort());
    for (const { key, texts } of contents)
      for (const one of texts) if (!key.includes(one)) expect(text).not.toContain(one);
  },

  "a scan of a file": async (seeded) => {
    const contents = Array.from({ length: 3 }, () =>
      drawContent(seeded, { valueName: "value", hasKey: false, hasMetadata: false }),
    );
    const policies = drawPolicies(seeded, seeded.pick(contents));
    const [file, settings] = ["lines.txt", "policies.json"].map((name) => directory.join("imports", name)) as [
      string,
      string,
    ];
    writeFileSync(file, contents.map(({ value }) => `${value}\n`).join(""));
    writeFileSync(settings, JSON.stringify({ policies }));
    const { out, code } = await governd(["scan", "--policies", settings, "--json", file], { released: false });
    const force = { floor: {}, config: policies, nowMs: Date.now() };
    const wanted = contents.flatMap((one, at) => {
      const verdict = verdictOf(force, requestOf(one, { entries: 0, writes: 0 }));
      const outcome = outcomeOf(verdict).replace("would_", "");
      return outcome === "unchanged" ? [] : [`${at + 1} ${outcome} ${inOrder(verdict.findings)}`];
    });
    const { lines } = JSON.parse(out) as { lines: { line: number; outcome: string; findings: Finding[] }[] };
    expect(lines.map(({ line, outcome, findings }) => `${line} ${outcome} ${inOrder(findings)}`)).toEqual(wanted);
    expect(code).toBe(wanted.some((line) => !line.includes(" audit ")) ? 1 : 0);
    for (const one of contents.flatMap(({ texts }) => texts)) expect(out).not.toContain(one);
  },

  "what is in force": async (seeded) => {
    const { agent, force, version, content } = await drawn(seeded, WRITTEN);
    const { json } = await client.get(`/v1/config/${agent}/effective`);
    expect(json).toMatchObject({
      agent_id: agent,
      policies_version: version,
      config_version: force.config === null ? null : "v1",
    });
    const { patterns, exceptions, ...modes } = json.policies.screening ?? {};
    const { history_days: days, ...policies } = json.policies;
    expect(days).toBe(30);
    const members = new Map(membersOf("", { ...policies, screening: modes }));
    const wanted = partsInForce(force);
    expect(Object.fromEntries(members)).toEqual(
      Object.fromEntries([...wanted].map(([path, { value }]) => [path, value])),
    );
    const { history_days: _, ...from } = json.from;
    for (const [path, part] of wanted) {
      expect([path, from[path]]).toEqual([path, part.from]);
      delete from[path];
    }
    const sides = [force.floor.policies ?? {}, force.config ?? {}];
    const [ofWorkspacePolicies, ofConfig] = sides.map(({ screening }) =>
      (screening?.patterns ?? [])
        .filter(({ mode }) => mode !== "off")
        .map((one) => JSON.stringify(one, Object.keys(one).sort())),
    );
    const shown = (patterns ?? []).map((one: object) => JSON.stringify(one, Object.keys(one).sort()));
    expect(shown.toSorted()).toEqual([...new Set([...(ofWorkspacePolicies ?? []), ...(ofConfig ?? [])])].sort());
    for (const [at, one] of shown.entries()) {
      expect(from[`screening.patterns[${at}]`]).toBe(ofWorkspacePolicies?.includes(one) ? "floor" : "config");
      delete from[`screening.patterns[${at}]`];
    }
    // Those that are used are shown, and none that has ended.
    const { excepted } = verdictOf(force, requestOf(content));
    const named = (exceptions ?? []).map(({ detector }: { detector: string }) => detector);
    for (const detector of Object.keys(excepted)) expect(named).toContain(detector);
    for (const [at, { expires_at: end = "2099" }] of (exceptions ?? []).entries()) {
      expect(end.startsWith("2099")).toBe(true);
      expect(["floor", "config"]).toContain(from[`screening.exceptions[${at}]`]);
      delete from[`screening.exceptions[${at}]`];
    }
    expect(from).toEqual({});
  },

  "a read": async (seeded) => {
    const trial = await drawn(seeded, WRITTEN);
    const kind = seeded.pick(KINDS.filter(({ isFoundInKeys }) => isFoundInKeys));
    const text = plant(kind, seeded);
    const request = seeded.pick(READS)(trial.agent, text);
    const { head } = workspace.view;
    const { status } = await client.send(request.sent);
    expect([200, 404]).toContain(status);
    const events = workspace.view.eventsAfter(head);
    expect(events).toHaveLength(1);
    const content: Content = { ...clean(text), texts: [text], matches: [] };
    const { detector, policy } = kind;
    const match = { policy, detector, text, field: "key", start: 0, end: text.length, isFixed: true };
    expectNamed(trial, events[0], request.member, text, { ...content, matches: [match] }, request.under);
  },
};

const keptWish = (content: Content): Wish =>
  requestOf(content, { key: null, bytes: 0, entries: 0, writes: 0, isReplaceable: false, needsConfig: false });

/** Sends a text that is kept as it is or not at all. `told` checks what is stated of it, and returns the other details. */
async function expectKept(
  { agent, content, force, version }: Trial,
  sent: Sent,
  operation: string,
  told: (json: JsonObject, details: JsonObject) => JsonObject,
): Promise<void> {
  const verdict = verdictOf(force, keptWish(content));
  if (!verdict.allowed) for (const text of content.texts) hidden.add(text);
  const { head } = workspace.view;
  const { status, json, text } = await client.send(sent);
  const [event] = eventsAfter(head, content);
  const findings = inOrder(verdict.findings);
  const isSaid = verdict.findings.length > 0 || !verdict.allowed;
  expect([event?.line, findingsIn(json)]).toEqual([
    `${agent} ${operation} ${verdict.allowed ? "ok" : "blocked"}`,
    isSaid ? findings : null,
  ]);
  if (verdict.allowed) {
    expect(status).toBeLessThan(300);
    expectDetails({ details: told(json, event?.details as JsonObject) }, verdict, { policies_version: version });
  } else {
    expect([status, json.code, json.blocked_by]).toEqual([409, "blocked", verdict.blockedBy]);
    for (const one of content.texts) expect(text).not.toContain(one);
    expectDetails(event as SeenEvent, verdict, { policies_version: version });
  }
}

/** A request that names a text and is about nothing stored, and the member of its event that would name it. */
interface Read {
  sent: Sent;
  /** Null where no event names it, whatever the policies say. */
  member: string | null;
  /** The policies that count: those of the agent, of the workspace, or of the workspace and every detector. */
  under?: "agent" | "workspace" | "every";
}

const READS: readonly ((agent: string, text: string) => Read)[] = [
  (agent_id, key) => ({ sent: { path: "/v1/data/read", query: { agent_id, key } }, member: "key" }),
  (agent_id, key) => ({ sent: { path: "/v1/data/read-full", query: { agent_id, key } }, member: "key" }),
  (agent_id, key) => ({ sent: { path: "/v1/data", method: "DELETE", query: { agent_id, key } }, member: "key" }),
  (agent_id, prefix) => ({ sent: { path: "/v1/data/list", query: { agent_id, prefix } }, member: "prefix" }),
  (agent_id, prefix) => ({
    sent: { path: "/v1/data/list", query: { agent_id, prefix, count: true } },
    member: "prefix",
  }),
  (agent_id, prefix) => ({
    sent: { path: "/v1/data/prefix", method: "DELETE", query: { agent_id, prefix } },
    member: "prefix",
  }),
  (agent_id, key) => ({
    sent: { path: "/v1/data/batch", body: { agent_id, operations: [{ op: "read", key }] } },
    member: "key",
  }),
  (agent_id, key) => ({
    sent: { path: "/v1/data/batch", body: { agent_id, operations: [{ op: "delete", key }] } },
    member: "key",
  }),
  (agent_id, prefix) => ({ sent: { path: "/v1/data/query", body: { agent_id, prefix } }, member: "prefix" }),
  (agent_id, name) => ({
    sent: { path: "/v1/data/query", body: { agent_id, filter: { [name.replaceAll(".", "\\.")]: 1 } } },
    member: "filter",
  }),
  (agent_id, one) => ({ sent: { path: "/v1/data/query", body: { agent_id, filter: { a: one } } }, member: null }),
  (agent_id, query) => ({ sent: { path: "/v1/data/search", body: { agent_id, query } }, member: null }),
  (agent_id, prefix) => ({
    sent: { path: "/v1/data/search", body: { agent_id, query: "anything", prefix } },
    member: "prefix",
  }),
  (agent_id, key) => ({
    sent: olderMessage(`/v1/mcp/agents/${agent_id}`, "tools/call", { name: "memory_read", arguments: { key } }),
    member: "key",
  }),
  (agent_id, key) => ({
    sent: olderMessage("/v1/mcp", "resources/read", {
      uri: `governd://agents/${agent_id}/entries/${encodeURIComponent(key)}`,
    }),
    member: "key",
  }),
  (agent_id, name) => ({
    sent: statelessCall(
      `/v1/mcp/agents/${agent_id}`,
      { name: "memory_list", arguments: {} },
      { clientInfo: { name, version: "1.0" } },
    ),
    member: "client",
  }),
  (_, id) => ({ sent: { path: `/v1/checkpoints/${id}` }, member: "checkpoint_id", under: "every" }),
  (_, id) => ({ sent: { path: `/v1/checkpoints/${id}/changes` }, member: "checkpoint_id", under: "every" }),
  (_, id) => ({ sent: { path: `/v1/checkpoints/${id}/restore`, body: {} }, member: "checkpoint_id", under: "every" }),
  (_, id) => ({ sent: { path: `/v1/audit/${id}` }, member: "event_id", under: "every" }),
  (_, id) => ({ sent: { path: `/v1/audit/${id}/receipt` }, member: "event_id", under: "every" }),
  (agent_id, id) => ({ sent: { path: `/v1/config/${agent_id}/versions/${id}` }, member: null }),
  (_, key) => ({ sent: { path: "/v1/audit", query: { scope: "workspace", key } }, member: null }),
  (_, text) => ({ sent: { path: "/v1/audit", query: { scope: "all", text } }, member: null }),
  (_, actor) => ({
    sent: { path: "/v1/audit", query: { scope: "workspace", actor } },
    member: "actors",
    under: "workspace",
  }),
  (_, detector) => ({
    sent: { path: "/v1/audit/export", body: { scope: "workspace", format: "csv", detector: [detector] } },
    member: "detectors",
    under: "workspace",
  }),
  (_, contains) => ({ sent: { path: "/v1/agents", query: { contains } }, member: "contains", under: "workspace" }),
  (_, prefix) => ({ sent: { path: "/v1/agents", query: { prefix } }, member: "prefix", under: "workspace" }),
];

/** The event names a text unless the policies find something in it, in whatever mode, without exceptions that end. */
function expectNamed(
  { agent, force, version }: Trial,
  event: SeenEvent | undefined,
  member: string | null,
  text: string,
  { matches, texts }: Content,
  under: Read["under"] = "agent",
): void {
  const lasting = { ...force, nowMs: Number.MAX_SAFE_INTEGER, ...(under !== "agent" && { config: null }) };
  const inKey = matches.filter(({ field }) => field === "key");
  const isFound =
    inKey.some((match) => modeOf(lasting, match, text).mode !== "off") ||
    (under === "every" && inKey.some(({ policy }) => policy !== "patterns"));
  const details = event?.details ?? {};
  for (const one of texts) if (member === null || (isFound && text.includes(one))) hidden.add(one);
  const isTold = JSON.stringify(details).includes(text);
  expect([event?.operation, isTold]).toEqual([event?.operation as string, member !== null && !isFound]);
  if (member === null) return;
  const isWord = member === "actors" || member === "detectors";
  if (isWord && isFound) expect(details.filtered_by).toEqual([member]);
  if (!isWord && member !== "client") expect(details.redacted ?? false).toBe(isFound);
  if (event?.agentId === agent || (isFound && !isWord && member !== "client"))
    expect(details.policies_version).toBe(version);
}

/** The members that are not objects, each by its path. */
function membersOf(path: string, value: object): [string, unknown][] {
  return Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const at = path === "" ? name : `${path}.${name}`;
    return typeof member === "object" && member !== null ? membersOf(at, member) : [[at, member]];
  });
}

const TIMES = effort({ usual: 20, long: 300 });

test.each(Object.entries(OPERATIONS))("under drawn policies, %s", async (name, operation) => {
  const seeds = new Seeded(SEED + [...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 0));
  for (let time = 0; time < TIMES; time++) {
    const seed = seeds.next();
    try {
      await operation(new Seeded(seed));
    } catch (error) {
      throw new Error(`with the combination ${time} of ${name}`, { cause: error });
    }
  }
});

/** An event as an export has it. */
interface Exported {
  agent_id: string | null;
  operation: string;
  result: string;
  timestamp: string;
  details: JsonObject;
}

async function exported(format = "ndjson"): Promise<string> {
  const { status, text } = await client.post("/v1/audit/export", { scope: "workspace", format });
  expect(status).toBe(200);
  return text;
}

/** Policies without limits: how much an agent has written depends on the order. */
const unlimited = ({ limits: _, ...policies }: Policies): Policies => policies;

/** What races: one request, of which the agent of its event says which it was. */
interface Racing {
  agent: string;
  operation: string;
  content: Content;
  wish: Wish;
  send: () => Promise<Answered>;
  /** Of the answer. */
  status: number;
  isInTrail: boolean;
}

/** Agents, each with the config that it has in the beginning; the first has none. */
const RACERS: readonly (Policies | null)[] = [
  null,
  {},
  { screening: { pii: { mode: "audit" } } },
  { block_secrets: true, screening: { pii: { mode: "redact", detectors: { email: "off" } } } },
];

class Race {
  readonly racing = new Map<string, Racing>();

  constructor(private readonly seeded: Seeded) {}

  /** Everything that the policies of a race are about. */
  get #contents(): Content[] {
    return [...this.racing.values()].map(({ content }) => content);
  }

  #note(operation: string, content: Content, wish: Wish): Racing {
    const send = () => Promise.reject(new Error("not ready"));
    const one: Racing = { agent: freshAgent(), operation, content, wish, send, status: 0, isInTrail: false };
    this.racing.set(one.agent, one);
    return one;
  }

  /** Returns a write that is ready to be sent, under one of the configs. */
  async write(): Promise<Racing> {
    const content = drawContent(this.seeded, { ...WRITTEN, hasKey: false });
    content.key = `race/${this.racing.size}`;
    lengthen(this.seeded, content);
    const one = this.#note("data.write", content, requestOf(content));
    const { agent } = one;
    await setConfig(agent, this.seeded.pick(RACERS));
    const { key, value, metadata } = content;
    const body = { agent_id: agent, key, value, metadata };
    const operations = [{ op: "write", key, value, metadata }];
    one.send = this.seeded.weighted([
      [4, () => client.post("/v1/data/write", body)],
      [1, () => client.post("/v1/data/batch", { agent_id: agent, operations })],
      [1, () => client.post("/v1/data/batch", { agent_id: agent, operations, atomic: false })],
    ]);
    return one;
  }

  async label(): Promise<Racing> {
    const content = drawContent(this.seeded, { valueName: "label", hasKey: false, hasMetadata: true });
    const one = this.#note("checkpoint.create", content, keptWish(content));
    one.send = () => client.checkpoint(one.agent, { label: content.value, metadata: content.metadata });
    return one;
  }

  /** Whether a label was blocked, for which the policies must have changed just before. */
  get hasBlockedLabel(): boolean {
    const isBlocked = ({ operation, status }: Racing) =>
      operation === "checkpoint.create" && status >= 400 && status < 500;
    return this.racing.values().some(isBlocked);
  }

  async restore(): Promise<Racing> {
    const content = drawContent(this.seeded, WRITTEN);
    lengthen(this.seeded, content);
    const one = this.#note("checkpoint.restore", content, { ...requestOf(content), isReplaceable: false });
    const { agent } = one;
    await client.write(agent, content.key, content.value, content.metadata);
    const { id } = (await client.checkpoint(agent)).json;
    await client.write(agent, content.key, "later");
    await setConfig(agent, this.seeded.pick(RACERS));
    one.send = () => client.post(`/v1/checkpoints/${id}/restore`, { restore_config: false });
    return one;
  }

  /** Changes the policies of the workspace, and the configs of some agents. */
  async change(): Promise<void> {
    const about = this.seeded.pick(this.#contents);
    const drawn = drawPolicies(this.seeded, about);
    const soon = new Date(Date.now() + this.seeded.between(-20, 60)).toISOString();
    for (const one of drawn.screening?.exceptions ?? []) {
      said.add(one.equals ?? "");
      if (one.expires_at !== undefined) one.expires_at = soon;
    }
    if (this.seeded.chance(0.6)) {
      await setFloor({
        policies: unlimited(drawn),
        exceptions_from_agents: this.seeded.chance(0.5),
        require_config: this.seeded.chance(0.1),
      });
      return;
    }
    const some = this.seeded.shuffled([...this.racing.keys()]).slice(0, 8);
    await Promise.all(
      some.map((agent, at) =>
        at % 3 === 0
          ? client.post(`/v1/config/${agent}/rollback`, { version: "v1" })
          : client.configure(agent, { policies: unlimited(drawn) }),
      ),
    );
  }
}

/** Follows a trail, and knows the policies that are in force at each of its events. */
class Followed {
  floor: WorkspacePolicies = {};
  version: string | null = null;
  readonly #configs = new Map<string, (Policies | undefined)[]>();
  readonly #present = new Map<string, Policies>();
  #floors = new Map<string, WorkspacePolicies>();

  async load(agents: Iterable<string>): Promise<void> {
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await client.get("/v1/policies/versions", { limit: 1_000, ...(cursor !== "" && { cursor }) });
      for (const one of page.json.data) this.#floors.set(one.version, one);
      cursor = page.json.next_cursor;
    }
    for (const agent of agents) {
      const { json } = await client.get(`/v1/config/${agent}/versions`, { limit: 1_000 });
      this.#configs.set(agent, json.data.map(({ policies }: { policies: Policies }) => policies).reverse());
    }
  }

  /** Takes the next event. */
  take({ operation, result, agent_id: agent, details }: Exported): void {
    if (result !== "ok") return;
    if (operation === "policies.update") {
      this.version = details.version as string;
      this.floor = this.#floors.get(this.version) ?? {};
    }
    if ((operation === "config.update" || operation === "config.rollback") && agent !== null) {
      const config = this.#configs.get(agent)?.[Number((details.version as string).slice(1)) - 1];
      if (config !== undefined) this.#present.set(agent, config);
    }
  }

  force(agent: string, nowMs: number): Force {
    return { floor: this.floor, config: this.#present.get(agent) ?? null, nowMs };
  }
}

test("while 40 requests at once race changes of policies and configs, each obeys those before it in the trail", async () => {
  const seeded = new Seeded(SEED);
  const race = new Race(seeded);
  const rounds = effort({ usual: 6, long: 80 });
  // The rarest outcome needs more rounds with some seeds.
  for (let round = 0; round < rounds || (round < 10 * rounds && !race.hasBlockedLabel); round++) {
    await setFloor({});
    const ready: Racing[] = [];
    for (let at = 0; at < 40; at++)
      ready.push(await (at % 8 === 0 ? race.label() : at % 8 === 1 ? race.restore() : race.write()));
    const changing = (async () => {
      for (let more = 6; more > 0; more--) await race.change();
    })();
    const sending = ready.map(async (one) => {
      one.status = (await one.send()).status;
    });
    await Promise.all([changing, ...sending]);
  }
  await setFloor({});
  const followed = new Followed();
  await followed.load(race.racing.keys());
  const seen = new Set<string>();
  for (const line of (await exported()).trimEnd().split("\n")) {
    const event = JSON.parse(line) as Exported;
    followed.take(event);
    const one = race.racing.get(event.agent_id ?? "");
    if (one === undefined || one.operation !== event.operation) continue;
    // The writes and the checkpoint that a restore is about come before it.
    const { agent, content, wish } = one;
    const verdict = verdictOf(followed.force(agent, Date.parse(event.timestamp)), wish);
    expect([agent, event.operation, event.result === "blocked"]).toEqual([agent, one.operation, !verdict.allowed]);
    expect([agent, event.details.policies_version]).toEqual([agent, followed.version as string]);
    const isBarred = verdict.blockedBy === "policy:require_config" && event.operation === "checkpoint.restore";
    if (!isBarred) expect(findingsIn(event.details) ?? []).toEqual(inOrder(verdict.findings));
    expect([agent, event.details.excepted ?? {}]).toEqual([agent, isBarred ? {} : verdict.excepted]);
    one.isInTrail = true;
    seen.add(
      `${event.operation} ${event.result} ${verdict.allowed && wish.isReplaceable && verdict.replaced.length > 0}`,
    );
    if (event.operation === "data.write") {
      hide(content, verdict);
      await expectStored({ seeded, agent, content, force: followed.force(agent, 0), version: "" }, verdict);
    } else if (event.operation === "checkpoint.restore") {
      const { value } = (await client.read(agent, content.key)).json;
      expect(value).toBe(verdict.allowed ? content.value : "later");
    } else if (!verdict.allowed) for (const text of content.texts) hidden.add(text);
  }
  // A long text may be refused after the policies have changed several times, and has then left nothing.
  for (const { agent, operation, content, status, isInTrail } of race.racing.values()) {
    expect([agent, status === 503]).toEqual([agent, !isInTrail]);
    if (isInTrail || operation !== "data.write") continue;
    for (const text of content.texts) hidden.add(text);
    await expectNothing(agent);
  }
  expect(seen.size).toBeGreaterThanOrEqual(7);
});

test("the search finds a text in every form", () => {
  const seeded = new Seeded(SEED);
  for (const kind of KINDS) {
    const text = plant(kind, seeded);
    const json = text.replace(/[^a-z0-9]/gi, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);
    const forms = [
      Buffer.from(`so ${text} stands here`),
      Buffer.from(`{"a":"${json}"}`),
      Buffer.from(encodeURIComponent(text)),
      Buffer.from(`so ${text} stands here`, "utf16le"),
      Buffer.from(`so ${text} stands here`, "utf16le").swap16(),
      Buffer.from(Buffer.from(`so ${text} stands here`, "utf16le").toString("base64")),
      Buffer.from(Buffer.from(text).toString("hex")),
      ...[0, 1, 2].map((more) => Buffer.from(Buffer.from(`${"x".repeat(more)}${text} here`).toString("base64"))),
    ];
    for (const form of forms) expect([text, [...plantedIn(form)]]).toEqual([text, [text]]);
  }
});

test("what was replaced or refused is in no file, log, export, delivery, stream, metric, report or backup", async () => {
  expect((await workspace.view.verify()).problems).toEqual([]);
  const outputs = new Map<string, string>();
  for (const format of ["json", "ndjson", "csv", "cloudevents", "ocsf"]) outputs.set(format, await exported(format));
  outputs.set("metrics", await (await fetch(daemon.metricsUrl as string)).text());
  const last = workspace.view.eventsAfter(workspace.view.head - 1)[0]?.id as string;
  const delivered = (name: string) => readFileSync(directory.join("sinks", `${name}.ndjson`), "utf8");
  await eventually(
    "everything is delivered and streamed",
    () => streamed.includes(last) && SINKS.every((name) => delivered(name).includes(last)),
  );
  outputs.set("the stream", streamed);
  const { dataDir } = daemon;
  outputs.set("the log", await daemon.log());
  // The stop empties the write-ahead log. Its file has no locks that a reader in this process would release.
  const log = `${workspace.id}.db-wal`;
  outputs.set(log, readFileSync(join(dataDir, "workspaces", log), "latin1"));
  await daemon.stop();
  const words = [["check"], ["verify", dataDir], ["verify", dataDir, "--json"], ["backup", directory.join("backups")]];
  for (const [name = "", ...rest] of words) {
    const { out, err } = await governd([name, ...rest, ...(name === "verify" ? [] : ["--data-dir", dataDir])]);
    outputs.set(["governd", name, ...rest].join(" "), out + err);
  }
  const files = [dataDir, directory.join("sinks"), directory.join("backups")].flatMap((path) =>
    readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((one) =>
      one.isFile() ? [join(one.parentPath, one.name)] : [],
    ),
  );
  const there = new Map<string, string>();
  const look = (where: string, bytes: Buffer) => {
    for (const text of plantedIn(bytes)) there.set(text, where);
  };
  for (const file of files) look(file.slice(directory.path.length), readFileSync(file));
  for (const [name, text] of outputs) look(name, Buffer.from(text, "latin1"));
  const gone = [...hidden].filter((text) => !said.has(text));
  expect(gone.flatMap((text) => (there.has(text) ? [[text, there.get(text)]] : []))).toEqual([]);
  // What may be stored is found in the same way, of each kind.
  const kinds = KINDS.map(({ shape }) => [...there.keys()].some((text) => new RegExp(shape).test(text)));
  expect(kinds).toEqual(KINDS.map(() => true));
  expect(gone.length).toBeGreaterThan(TIMES);
});
