/**
 * Every combination of the workspace's policies, an agent's config and an operation, half of them in each run of
 * `npm test`: what is stored, answered and recorded, also while the policies change. What was replaced or refused is
 * nowhere in the files and in the log.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DaemonApi } from "../../src/cli/data/api.ts";
import { importEntries } from "../../src/cli/data/import.ts";
import type { JsonObject } from "../../src/json.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import type { Client } from "../support/client.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { freshAgent } from "../support/scenario.ts";
import { PROCESS_TEST_MS, type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

/** Weakest first. */
const MODES = ["off", "audit", "redact", "block"] as const;
type Mode = (typeof MODES)[number];
const stronger = (a: Mode, b: Mode): Mode => MODES[Math.max(MODES.indexOf(a), MODES.indexOf(b))] as Mode;

/** Each way to demand something of what is found, and the mode that it means. */
interface Kind {
  detector: string;
  policy: string;
  demands: Readonly<Record<string, readonly [policies: JsonObject, mode: Mode]>>;
  /** Another text with each call. */
  text(): string;
}

const screening = (setting: JsonObject): JsonObject => ({ screening: setting });
const inModes = (of: (mode: Mode) => JsonObject) =>
  Object.fromEntries(MODES.slice(1).map((mode) => [mode, [screening(of(mode)), mode] as const]));

let made = 0;
const number = () => String(10_000 + made++);
const KINDS: readonly Kind[] = [
  {
    detector: "email",
    policy: "block_pii",
    demands: {
      nothing: [{}, "off"],
      ...inModes((mode) => ({ pii: { mode } })),
      "one detector": [screening({ pii: { mode: "block", detectors: { email: "audit" } } }), "audit"],
      "a policy that blocks": [{ block_pii: true, ...screening({ pii: { detectors: { email: "off" } } }) }, "block"],
    },
    text: () => `maria.keller${number()}@posteo.de`,
  },
  {
    detector: "provider_token",
    policy: "block_secrets",
    demands: {
      nothing: [{}, "off"],
      ...inModes((mode) => ({ secrets: { mode } })),
      "a policy that blocks": [{ block_secrets: true }, "block"],
    },
    text: () => `ghp_${"aB3dE5fG7h".repeat(3)}x${number()}`,
  },
  {
    detector: "project",
    policy: "patterns",
    demands: {
      nothing: [{}, "off"],
      ...inModes((mode) => ({ patterns: [{ name: "project", regex: "PRJ-[0-9]{5}", mode }] })),
    },
    text: () => `PRJ-${number()}`,
  },
];

let daemon: TestDaemon;
let workspace: TestWorkspace;
let client: Client;
let directory: TemporaryDirectory;
/** What must be nowhere. */
const hidden: string[] = [];

beforeAll(async () => {
  daemon = await TestDaemon.start();
  workspace = await daemon.workspace();
  ({ client } = workspace);
  directory = temporaryDirectory();
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

async function setFloor(floor: JsonObject): Promise<string> {
  const { status, json } = await client.send({ method: "PUT", path: "/v1/policies", body: floor });
  expect(status).toBe(200);
  return json.version;
}

/** Writes a text, and returns the answer of a write, without what only some ways of writing say. */
type Writing = (agent: string, value: string) => Promise<JsonObject>;
const operations = (value: string) => [{ op: "write", key: "k", value }];
const WRITINGS: Readonly<Record<string, Writing>> = {
  write: async (agent, value) => (await client.write(agent, "k", value)).json,
  "a batch": async (agent, value) =>
    (await client.post("/v1/data/batch", { agent_id: agent, operations: operations(value) })).json.results[0],
  "a batch that is not atomic": async (agent, value) =>
    (await client.post("/v1/data/batch", { agent_id: agent, atomic: false, operations: operations(value) })).json
      .results[0],
  "a tool": async (agent, value) => {
    const call = { name: "memory_write", arguments: { key: "k", value } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call };
    const headers = { "mcp-protocol-version": "2025-11-25", accept: "application/json, text/event-stream" };
    const { json } = await client.send({ path: `/v1/mcp/agents/${agent}`, body, headers });
    return json.result.structuredContent;
  },
  "a check": async (agent, value) =>
    (await client.post("/v1/policies/check", { agent_id: agent, key: "k", value })).json,
};

const lastEvent = () => workspace.view.eventsAfter(workspace.view.head - 1)[0];
const storedBy = async (agent: string) => (await client.read(agent, "k")).json.value ?? null;

/** The modes of the findings that details have. */
const foundIn = (details: Record<string, unknown> | null | undefined): string[] =>
  ((details?.findings ?? []) as { mode: string }[]).map(({ mode }) => mode);

/** An agent with a config, or without one. */
async function agentWith(policies: JsonObject | null): Promise<string> {
  const agent = freshAgent();
  if (policies !== null) expect((await client.configure(agent, { policies })).status).toBe(200);
  return agent;
}

/** What is to happen to a text in a mode: the answer, and what is stored of it. */
function outcomeIn(mode: Mode, { detector, policy }: Kind, text: string) {
  const findings = mode === "off" ? {} : { findings: [{ policy, detector, field: "value", mode }] };
  if (mode === "block")
    return { answer: { allowed: false, blocked_by: `policy:${policy}`, ...findings }, stored: null };
  const redacted = mode === "redact" ? { redacted: true } : {};
  const stored = mode === "redact" ? `about [redacted:${detector}].` : `about ${text}.`;
  return { answer: { allowed: true, ...redacted, ...findings }, stored };
}

const COMBINATIONS = KINDS.flatMap((kind) =>
  Object.entries(kind.demands).map(([name, [floor, mode]]) => ({ name, kind, floor, floorMode: mode })),
);

/** Under each policy of the workspace, one in so many configs, others in each run. */
const EVERY = effort({ usual: 2, long: 1 });

describe.each(COMBINATIONS.map((one, number) => [`${one.kind.detector}: ${one.name}`, { ...one, number }] as const))(
  "the workspace demands of %s",
  (_name, { kind, floor, floorMode, number: which }) => {
    let version: string;
    beforeAll(async () => {
      version = await setFloor({ policies: floor });
    });

    const all: [string, JsonObject | null, Mode][] = [
      ["no config", null, "off"],
      ...Object.entries(kind.demands).map(([name, [own, mode]]): [string, JsonObject, Mode] => [name, own, mode]),
    ];
    const configs = all.filter((_, index) => (index + which + SEED) % EVERY === 0);

    /** Some text about what is found, which is to be nowhere if the mode says so. */
    function textIn(mode: Mode) {
      const text = kind.text();
      if (mode === "redact" || mode === "block") hidden.push(text);
      return { text, value: `about ${text}.`, ...outcomeIn(mode, kind, text) };
    }

    test.each(configs)("and the config %s: writes", async (_config, own, ownMode) => {
      const mode = stronger(floorMode, ownMode);
      for (const [name, writing] of Object.entries(WRITINGS)) {
        const agent = await agentWith(own);
        const { value, answer, stored } = textIn(mode);
        const said = await writing(agent, value);
        expect({ name, ...said }).toMatchObject({ name, ...answer });
        if (mode === "off") expect(said).not.toHaveProperty("findings");
        expect([name, await storedBy(agent)]).toEqual([name, name === "a check" ? null : stored]);
      }
      const event = async (name: keyof typeof WRITINGS, value: string, agent: string) => {
        await (WRITINGS[name] as Writing)(agent, value);
        return lastEvent()?.details;
      };
      const { value, answer } = textIn(mode);
      const { allowed: _, blocked_by: _by, ...recorded } = answer as JsonObject;
      const details = await event("write", value, await agentWith(own));
      expect(details).toMatchObject({ policies_version: version, ...recorded });
    });

    test.each(configs)("and the config %s: an import", async (_config, own, ownMode) => {
      const mode = stronger(floorMode, ownMode);
      const agent = await agentWith(own);
      const { value, stored } = textIn(mode);
      const file = directory.join(`${agent}.ndjson`);
      writeFileSync(file, `${JSON.stringify({ key: "k", value })}\n`);
      const api = new DaemonApi({ url: daemon.url, tls: { ca: [daemon.ca] } }, client.apiKey);
      const done = await importEntries(api, { file, agent, keep: false, resume: false }, async () => {});
      expect(done).toMatchObject(mode === "block" ? { written: 0, refused: 1 } : { written: 1, refused: 0 });
      expect(await storedBy(agent)).toBe(stored);
    });

    test.each(configs)(
      "and the config %s: a restore, a rollback, a label and a reason",
      async (_config, own, ownMode) => {
        const mode = stronger(floorMode, ownMode);
        const isRefused = mode === "redact" || mode === "block";
        const policy = `policy:${kind.policy}`;
        // An entry from before the policies, which a restore would bring back.
        await setFloor({});
        const agent = await agentWith({});
        const old = `about ${kind.text()}.`;
        await client.write(agent, "k", old);
        const { id } = (await client.checkpoint(agent)).json;
        await client.write(agent, "k", "clean");
        await setFloor({ policies: floor });
        if (own !== null) await client.configure(agent, { policies: own });
        const restored = await client.post(`/v1/checkpoints/${id}/restore`, { restore_config: false });
        expect(restored.json).toMatchObject(
          isRefused ? { code: "restore_blocked", blocked_by: policy } : { entries_restored: 1 },
        );
        expect(await storedBy(agent)).toBe(isRefused ? "clean" : old);
        // Labels and reasons are stored as they are, or not at all.
        const label = textIn(mode).value;
        const labelled = await client.checkpoint(agent, { label });
        expect(labelled.json).toMatchObject(isRefused ? { code: "blocked", blocked_by: policy } : { label });
        expect(foundIn(lastEvent()?.details)).toEqual(mode === "off" ? [] : [mode]);
        const reason = textIn(mode).value;
        const suspended = await client.post(`/v1/agents/${agent}/suspend`, { reason });
        expect(suspended.json).toMatchObject(
          isRefused ? { code: "blocked", blocked_by: policy } : { state: "suspended" },
        );
        expect(foundIn(lastEvent()?.details)).toEqual(mode === "off" ? [] : [mode]);
        await client.post(`/v1/agents/${agent}/resume`, {});
        // Rolled back to a config that demands nothing, the agent is under the workspace's policies still.
        expect((await client.post(`/v1/config/${agent}/rollback`, { version: "v1" })).status).toBe(200);
        const { value, answer, stored } = textIn(floorMode);
        await client.delete("/v1/data", { agent_id: agent, key: "k" });
        expect((await client.write(agent, "k", value)).json).toMatchObject(answer);
        expect(await storedBy(agent)).toBe(stored);
        // So it is when a restore brings back that config.
        await client.configure(agent, { policies: { block_pii: true } });
        await client.post(`/v1/checkpoints/${id}/restore`, { restore_data: false });
        const again = textIn(floorMode);
        expect((await client.write(agent, "again", again.value)).json).toMatchObject(again.answer);
      },
    );
  },
);

describe("exceptions", () => {
  const address = "support.desk@posteo.de";
  const excepting = (more: JsonObject = {}) => ({
    ...more,
    screening: { exceptions: [{ detector: "email", equals: address, reason: "public" }] },
  });
  const write = async (agent: string) => (await client.write(agent, "k", `ask ${address}`)).json.allowed;
  const blocking = { block_pii: true };

  test.each([
    ["of the config do not weaken what the workspace demands", { policies: blocking }, excepting(), false],
    [
      "of the config do, where the workspace lets them",
      { policies: blocking, exceptions_from_agents: true },
      excepting(),
      true,
    ],
    ["of the config weaken what the config demands", {}, excepting(blocking), true],
    ["of the workspace hold for agents without a config", { policies: excepting(blocking) }, null, true],
    ["of the workspace do not weaken what the config demands", { policies: excepting(blocking) }, blocking, false],
    ["of both hold", { policies: excepting(blocking) }, excepting(blocking), true],
  ] as [string, JsonObject, JsonObject | null, boolean][])("%s", async (_name, floor, own, isAllowed) => {
    await setFloor(floor);
    const agent = await agentWith(own);
    expect(await write(agent)).toBe(isAllowed);
    if (isAllowed) expect(lastEvent()?.details).toMatchObject({ excepted: { email: 1 } });
  });

  test("are counted as well where something else is refused, in an entry and in a label", async () => {
    await setFloor({ policies: excepting(blocking) });
    const agent = freshAgent();
    const text = `ask ${address} or maria.keller@posteo.de`;
    for (const refused of [client.write(agent, "k", text), client.checkpoint(agent, { label: text })]) {
      expect((await refused).json).toMatchObject({ blocked_by: "policy:block_pii", findings: [{ detector: "email" }] });
      expect(lastEvent()?.details).toMatchObject({ findings: [{ detector: "email" }], excepted: { email: 1 } });
    }
    expect((await client.checkpoint(agent, { label: `ask ${address}` })).status).toBe(201);
    expect(lastEvent()?.details).toMatchObject({ excepted: { email: 1 } });
  });
});

test("40 writes race changes of the policies, and each obeys the version that its event names", async () => {
  const [kind] = KINDS as [Kind];
  const modes = new Map<string, Mode>();
  const agents = [
    await agentWith(null),
    await agentWith({}),
    await agentWith({ screening: { pii: { mode: "audit" } } }),
  ];
  const [firstVersion, head] = [await setFloor({}), workspace.view.head];
  modes.set(firstVersion, "off");
  const change = async (mode: Mode) =>
    void modes.set(await setFloor({ policies: { screening: { pii: { mode } } } }), mode);
  const values = new Map<string, string>();
  // Another thread decides about long texts, before they are written.
  const endOf = (key: string): string => (key.endsWith("5") ? " And so on.".repeat(1_000) : "");
  const write = async (key: string) => {
    const agent = agents[values.size % agents.length] as string;
    const text = kind.text();
    values.set(key, text);
    const value = `about ${text}.${endOf(key)}`;
    const operations = [{ op: "write", key, value }];
    if (values.size % 3 > 0) await client.write(agent, key, value);
    else await client.post("/v1/data/batch", { agent_id: agent, atomic: values.size % 2 === 0, operations });
  };
  for (let round = 0; round < 4; round++) {
    const changes = MODES.map((_, at) => MODES[(at + round) % MODES.length] as Mode);
    const changing = (async () => {
      for (const mode of changes) await change(mode);
    })();
    await Promise.all([changing, ...Array.from({ length: 40 }, (_, at) => write(`race/${round}/${at}`))]);
  }
  const inForce = { version: firstVersion };
  const seen = new Set<Mode>();
  for (const { operation, result, details, agentId } of workspace.view.eventsAfter(head)) {
    if (operation === "policies.update") inForce.version = details?.version as string;
    if (operation !== "data.write") continue;
    const { key, policies_version: named, redacted = false } = details as Record<string, string>;
    expect(named).toBe(inForce.version);
    const ofConfig: Mode = agentId === agents[2] ? "audit" : "off";
    const mode = stronger(modes.get(named as string) as Mode, ofConfig);
    seen.add(mode);
    const text = values.get(key as string) as string;
    const { stored } = outcomeIn(mode, kind, text);
    expect([key, result, redacted]).toEqual([key, mode === "block" ? "blocked" : "allowed", mode === "redact"]);
    const read = await client.read(agentId as string, key as string);
    expect(read.json.value ?? null).toBe(stored === null ? null : `${stored}${endOf(key as string)}`);
    if (mode === "redact" || mode === "block") hidden.push(text);
  }
  expect([...seen].sort()).toEqual([...MODES].sort());
  expect(values.size).toBe(160);
});

test("what was replaced or refused is in no file and in no log, and everything verifies", async () => {
  expect((await workspace.view.verify()).problems).toEqual([]);
  // In one pass: there are many texts and large files.
  const texts = /maria\.keller\d{5}@posteo\.de|ghp_\w+?x\d{5}|PRJ-\d{5}/g;
  const files = readdirSync(daemon.dataDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const bytes = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  expect(hidden.length).toBeGreaterThan(500 / EVERY);
  const searched = [...bytes, await daemon.log(), JSON.stringify(workspace.view.eventsAfter(-1))];
  const there = new Set(searched.flatMap((one) => one.match(texts) ?? []));
  expect(hidden.filter((text) => there.has(text))).toEqual([]);
  // What may be stored is found in the same way, of each kind.
  expect(hidden.every((text) => text.match(texts)?.[0] === text)).toBe(true);
  expect(["maria", "ghp_", "PRJ-"].map((start) => [...there].some((text) => text.startsWith(start)))).toEqual([
    true,
    true,
    true,
  ]);
});
