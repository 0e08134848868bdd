/**
 * Exports as governd makes them, and forgeries by somebody without the key, who corrects counts, proofs and neighbours.
 * Both programs must say the same of each.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealKey, publicPem, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { scanEvents } from "../../src/core/rows/log/events.ts";
import { sealOfSize } from "../../src/core/rows/log/seals.ts";
import { treeReader } from "../../src/core/rows/log/tree.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { exportProof } from "../../src/log/export-write.ts";
import { eventHash, saltedDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { verifierKey } from "../../src/log/note.ts";
import { type PresentedEvent, presentEvent } from "../../src/log/present.ts";
import { canonicalText } from "../../src/log/rows.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import type { Verdict } from "../../src/verify/problems.ts";
import { verifyExportFile } from "../../src/verify/sources.ts";
import { readTrust, type Trust } from "../../src/verify/trust.ts";
import { effort } from "../effort.ts";
import { HAS_GO } from "../go.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { inMemory } from "../temporary.ts";
import { ThirdVerifier } from "../third-verifier/third-verifier.ts";
import { codesOf, type SaidReport } from "../verify/second-verifier.ts";

const ID = "ws_01h455vb4pex5vsknk084sn02q";
const START = Date.UTC(2026, 0, 1);
const root = mkdtempSync(join(inMemory(), "governd-bound-"));
const database = join(root, "log.db");
let connection: Connection;
let writer: WorkspaceWriter;
let trust: Trust;
let seconds = 0;
const publicKey = join(root, "seal.pub");
const principal = { actor: "usr_01h455vb4pex5vsknk084sn02q", workspaceId: ID, scope: "full", agents: null } as const;

async function perform<N extends OperationName>(name: N, input: OperationInputs[N]) {
  seconds += 1;
  const [reply] = await writer.perform([jobOf({ name, input, principal })]);
  if (reply === undefined || reply.answer.kind === "problem") throw new Error(`${name}: ${JSON.stringify(reply)}`);
  return reply.answer;
}

const write = (agentId: string, key: string) =>
  perform("data.write", { agentId, key, value: `of ${key}`, metadata: {} });

type Form = "json" | "ndjson";
type Scope = OperationInputs["audit.export"]["scope"];
/** An export in parts. */
interface Parts {
  form: Form;
  header: JsonObject & { event_count: number; proof: JsonObject | null; binding: JsonObject };
  events: PresentedEvent[];
  erasures?: JsonValue;
}

const at = (second: number): number => START + second * 1000;
const time = (second: number): string => new Date(at(second)).toISOString();

async function take(
  form: Form,
  scope: Scope,
  window: { startMs?: number; endMs?: number } = {},
  midway?: () => Promise<unknown>,
) {
  const answer = await perform("audit.export", { scope, format: form, window });
  if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export");
  using reader = openConnection(database, { readOnly: true });
  let text = "";
  for await (const piece of streamExport(reader, answer.body, ID)) {
    text += piece;
    if (midway !== undefined) await midway();
    midway = undefined;
  }
  return text;
}

function parts(form: Form, text: string): Parts {
  if (form === "json") {
    const { events, erasures, ...header } = JSON.parse(text);
    return { form, header, events, erasures };
  }
  const [first, ...lines] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { type, ...header } = first;
  const { erasures } = lines.pop();
  return { form, header, events: lines.map(({ type, ...event }) => event), erasures };
}

/** Writes the parts with counts that fit. */
function text({ form, header, events, erasures }: Parts): string {
  const about = { ...header, event_count: events.length };
  const more = erasures === undefined ? {} : { erasures };
  if (form === "json") return JSON.stringify({ ...about, events, ...more });
  const trailer = { type: "trailer", event_count: events.length, head: events.at(-1)?.hash ?? null, ...more };
  const lines = [{ type: "header", ...about }, ...events.map((event) => ({ type: "event", ...event })), trailer];
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

async function eventAt(seq: number): Promise<PresentedEvent> {
  const [stored] = await scanEvents(connection, null, { from: seq, to: seq });
  if (stored === undefined) throw new Error(`no event ${seq}`);
  return presentEvent(stored);
}

async function bodyAt(seq: number): Promise<JsonObject> {
  const [stored] = await scanEvents(connection, null, { from: seq, to: seq });
  return parseEvent(canonicalText(stored as never)) as unknown as JsonObject;
}

/** Corrects the neighbours and the proof, from the log, so that they fit the events. */
async function refit(given: Parts): Promise<Parts> {
  const { header, events } = given;
  const agentId = header.agent_id as string | null;
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return given;
  const number = (event: PresentedEvent): number => (agentId === null ? event.seq : event.agent_seq);
  const beside = async (at: number) => {
    const [stored] = await scanEvents(connection, agentId, { from: at, to: at });
    return stored === undefined ? null : (parseEvent(canonicalText(stored)) as unknown as JsonObject);
  };
  const [before, after] = [await beside(number(first) - 1), await beside(number(last) + 1)];
  const size = (header.binding.seq as number) + 1;
  const run = { first: (before?.seq as number | undefined) ?? first.seq, last: (after?.seq as number) ?? last.seq };
  // A stale seal does not cover later events.
  const provable = header.proof !== null && run.last < size;
  const proof = provable
    ? { ...header.proof, ...(await exportProof(agentId, run, size, treeReader(connection))) }
    : header.proof;
  return { ...given, header: { ...header, before, after, proof } };
}

/** Returns the event of the export with other details and a hash that fits. Putting it under a seal takes the key. */
function forged(binding: JsonObject, change: JsonObject): JsonObject {
  const { details, details_salt: salt, hash, ...body } = structuredClone(binding);
  const said = { ...(details as JsonObject), ...change };
  body.details_commitment = saltedDigest(salt as string, canonicalJson(said));
  const canonical = canonicalEvent(body as never);
  return { ...body, details: said, details_salt: salt as string, hash: eventHash(canonical) };
}

const edge = (event: PresentedEvent | undefined): JsonValue =>
  event === undefined ? null : { seq: event.seq, agent_seq: event.agent_seq, hash: event.hash };

type Attack = [name: string, change: (parts: Parts) => Parts | Promise<Parts>];

const cuts: [string, (events: PresentedEvent[]) => PresentedEvent[]][] = [
  ["the first event cut off", (events) => events.slice(1)],
  ["the last event cut off", (events) => events.slice(0, -1)],
  ["the beginning cut off", (events) => events.slice(events.length / 2)],
  ["the end cut off", (events) => events.slice(0, Math.ceil(events.length / 2))],
  ["both ends cut off", (events) => events.slice(2, -2)],
  ["one event left", (events) => events.slice(3, 4)],
  ["no event left", () => []],
  ["one event in the middle cut out", (events) => events.toSpliced(4, 1)],
  ["several events in the middle cut out", (events) => events.toSpliced(3, 3)],
];

/** Cuts: with everything else corrected or not, with the window narrowed, and with the event of the export forged. */
const cutting: Attack[] = cuts.flatMap(([name, cut]): Attack[] => [
  [name, (given) => refit({ ...given, events: cut(given.events) })],
  [`${name}, and nothing else corrected`, (given) => ({ ...given, events: cut(given.events) })],
  [
    `${name}, and the window narrowed`,
    async (given) => {
      const events = cut(given.events);
      const end = new Date(Date.parse(events.at(-1)?.timestamp ?? time(3)) + 1).toISOString();
      const header = { ...given.header, start_time: events[0]?.timestamp ?? time(2), end_time: end };
      return await refit({ ...given, events, header });
    },
  ],
  [
    `${name}, and the event of the export forged`,
    async (given) => {
      const events = cut(given.events);
      const said = { event_count: events.length, first: edge(events[0]), last: edge(events.at(-1)) };
      const binding = forged(given.header.binding, said);
      return await refit({ ...given, events, header: { ...given.header, binding } });
    },
  ],
]);

const header = (change: (header: Parts["header"]) => JsonObject | Promise<JsonObject>) => async (given: Parts) => ({
  ...given,
  header: { ...given.header, ...(await change(given.header)) } as Parts["header"],
});

const telling: Attack[] = [
  ["no binding", header(() => ({ binding: null as never }))],
  ["another agent", header(({ agent_id }) => ({ agent_id: agent_id === null ? "alpha" : null }))],
  ["another start", header(() => ({ start_time: time(1) }))],
  ["another end", header(() => ({ end_time: time(999) }))],
  ["another time of export", header(() => ({ exported_at: time(5) }))],
  ["another event after", header(async () => ({ after: await bodyAt(2) }))],
  ["the genesis before", header(async () => ({ before: await bodyAt(0) }))],
  ["no proof", header(() => ({ proof: null }))],
  ["no key", header(() => ({ public_key: null }))],
  ["an empty proof of the binding", header(({ proof }) => ({ proof: { ...proof, binding: [] } }))],
  ["no seal, and a proof", header(() => ({ seal: null }))],
  ["a member more", header(() => ({ note: "x" }))],
  ["a starts_after", header(() => ({ starts_after: null }))],
  ["a member missing", ({ header: { before, ...rest }, ...given }) => ({ ...given, header: rest as never })],
  [
    "a member more after the event before",
    header(({ after }) => ({ after: { ...(after as JsonObject), details: null } })),
  ],
  [
    "details of the binding blanked",
    header(({ binding }) => ({ binding: { ...binding, details: null, details_salt: null } })),
  ],
  [
    "details of the binding changed",
    header(({ binding }) => ({
      binding: { ...binding, details: { ...(binding.details as JsonObject), format: "x" } },
    })),
  ],
  [
    "the root of another tree bound",
    header(({ binding }) => ({ binding: forged(binding, { tree_root: "0".repeat(64) }) })),
  ],
  ["restores bound", header(({ binding }) => ({ binding: forged(binding, { restores: 1 }) }))],
  ["a pruning bound", header(({ binding }) => ({ binding: forged(binding, { pruned_before: 30 }) }))],
  ["the event of a write as binding", header(async () => ({ binding: (await eventAt(3)) as never }))],
  [
    "an earlier seal",
    header(async ({ binding }) => ({ seal: (await sealOfSize(connection, (binding.seq as number) - 1))?.note ?? "x" })),
  ],
];

const shapes: [string, Scope, { startMs?: number; endMs?: number }][] = [
  ["a workspace", { scope: "workspace" }, {}],
  ["a window", { scope: "workspace" }, { startMs: at(12), endMs: at(40) }],
  ["a window without an end", { scope: "workspace" }, { startMs: at(20) }],
  ["a window without a start", { scope: "workspace" }, { endMs: at(33) }],
  ["an agent", { agentId: "beta" }, {}],
  ["a window of an agent", { agentId: "beta" }, { startMs: at(9), endMs: at(45) }],
];
const empty: [string, Scope, { startMs?: number; endMs?: number }][] = [
  ["a window before the log", { scope: "workspace" }, { endMs: at(0) }],
  ["a window between two events", { scope: "workspace" }, { startMs: at(20) + 1, endMs: at(20) + 2 }],
  ["a window after the log", { scope: "workspace" }, { startMs: at(5000) }],
  ["a window of an agent that did nothing in it", { agentId: "gamma" }, { startMs: at(30), endMs: at(44) }],
];

/** Text that is cut off, altered before the cut, or has a member twice or a lone surrogate. */
function damaged(name: string, form: Form, honest: string): Case[] {
  const end = form === "json" ? "]," : '{"type":"trailer"';
  const at = [honest.length - 3, honest.lastIndexOf(end), Math.floor(honest.length * 0.9)];
  const events = honest.indexOf("\n");
  const altered = honest.slice(0, events) + honest.slice(events).replace('"result":"allowed"', '"result":"blocked"');
  expect(altered).not.toBe(honest);
  const twice = ["details", "hash", "first", "tree_root", "exported_at", "event_count", "seal"].map((member): Case => {
    const text = honest.replace(new RegExp(`"${member}":("[^"]*"|\\d+|null|.)`), (found) => {
      const value = found.slice(member.length + 3);
      return `"${member}":${/^["\dn]/.test(value) ? value : "null"},${found}`;
    });
    expect(text).not.toBe(honest);
    // A first line that cannot be read does not say that an export follows.
    return { name: `${name}: ${member} twice`, text, verdict: form === "json" ? "tampered" : "undetermined" };
  });
  return [
    ...twice,
    ...at.flatMap((cut): Case[] => [
      { name: `${name}: cut at ${cut}`, text: honest.slice(0, cut), verdict: "undetermined" },
      { name: `${name}: altered, and cut at ${cut}`, text: altered.slice(0, cut), verdict: "tampered" },
    ]),
    {
      name: `${name}: a lone surrogate`,
      text: honest.replace(/("value_digest":")/, '"x":"\\ud800",$1'),
      verdict: "tampered",
    },
  ];
}

interface Case {
  name: string;
  text: string;
  verdict: Verdict;
  completeness?: string;
}
const cases: Case[] = [];
/** One in this many of the attacks is made, others on each export. */
const EVERY = effort({ usual: 5, long: 1 });
let turns = 0;
const isTurn = (): boolean => turns++ % EVERY === 0;
const EXIT = { verified: 0, tampered: 1, undetermined: 2 } as const;

beforeAll(async () => {
  mkdirSync(join(root, "cases"));
  const keyFile = join(root, "seal.key");
  writeFileSync(keyFile, newSealKey());
  writeFileSync(publicKey, publicPem(readSealKey({ kind: "file", path: keyFile })));
  trust = readTrust({ publicKey: [publicKey] });
  const keyring = new SealKeyring({ kind: "file", path: keyFile });
  const sealKey = verifierKey(`corpus.example/${ID}`, keyring.current().publicBytes);
  const clock = () => at(seconds);
  await createWorkspaceFile(database, { workspaceId: ID, name: "corpus", actor: "cli", sealKey }, clock);
  connection = openWorkspaceFile(database);
  const sealer = new WorkspaceSealer({ keyring, file: join(root, "seals.log") });
  writer = new WorkspaceWriter(connection, { sealer, clock });
  for (let index = 0; index < 48; index++) {
    const agentId = index % 12 === 0 && index < 30 ? "gamma" : index % 3 === 0 ? "alpha" : "beta";
    await write(agentId, `k${index}`);
    if (index % 16 === 0) await writer.seal();
  }
  await perform("data.erase", { agentId: "beta", key: "k10" });
  await perform("data.erase", { agentId: "alpha", key: "k15" });
  for (const form of ["json", "ndjson"] as const) {
    for (const [name, scope, window] of shapes) {
      const whole = window.startMs === undefined && window.endMs === undefined;
      const honest = await take(form, scope, window);
      cases.push({
        name: `${form}: ${name}`,
        text: honest,
        verdict: "verified",
        completeness: whole ? "complete" : "partial",
      });
      const taken = parts(form, honest);
      expect(text(taken).length).toBeGreaterThan(1000);
      cases.push({ name: `${form}: ${name}, written again`, text: text(taken), verdict: "verified" });
      for (const [attack, change] of [...cutting, ...telling]) {
        if (!isTurn()) continue;
        const changed = text(await change(structuredClone(taken)));
        // Cutting nothing off is not a change.
        if (changed === text(taken)) continue;
        cases.push({ name: `${form}: ${name}: ${attack}`, text: changed, verdict: "tampered" });
      }
      // The event of another export of the same workspace, with its proof and its seal.
      for (const [other, otherScope, otherWindow] of shapes) {
        if (other === name || !isTurn()) continue;
        const donor = parts(form, await take(form, otherScope, otherWindow));
        const { binding, proof, seal, exported_at } = donor.header;
        const swapped = { binding, proof, seal, exported_at } as JsonObject;
        const header = { ...taken.header, ...swapped } as Parts["header"];
        const changed = text(await refit({ ...taken, header }));
        cases.push({ name: `${form}: ${name}, with the event of ${other}`, text: changed, verdict: "tampered" });
      }
      // An earlier export of the same kind, under the events of a later one, and the other way round.
      await write("beta", "later");
      const later = parts(form, await take(form, scope, window));
      const mixed: [string, Parts, Parts][] = [
        ["stale", later, taken],
        ["newer", taken, later],
      ];
      for (const [kind, body, donor] of mixed) {
        if (canonicalJson(body.events as never) === canonicalJson(donor.events as never)) continue;
        const { binding, proof, seal, exported_at } = donor.header;
        const header = { ...body.header, binding, proof, seal, exported_at } as Parts["header"];
        const changed = text(await refit({ ...body, header }));
        cases.push({ name: `${form}: ${name}, with a ${kind} event`, text: changed, verdict: "tampered" });
        cases.push({
          name: `${form}: ${name}, with a ${kind} event alone`,
          text: text({ ...body, header: { ...body.header, binding } }),
          verdict: "tampered",
        });
      }
      // All of an agent's events, its first and its last one taken out of everything.
      if ("scope" in scope) {
        const beta = taken.events.filter(({ agent_id }) => agent_id === "beta");
        const without: [string, PresentedEvent[]][] = [
          ["all events", beta],
          ["the first event", beta.slice(0, 1)],
          ["the last event", beta.slice(-1)],
        ];
        for (const [kind, gone] of without) {
          const events = taken.events.filter((event) => !gone.includes(event));
          cases.push({
            name: `${form}: ${name}, without ${kind} of an agent`,
            text: text(await refit({ ...taken, events })),
            verdict: "tampered",
          });
        }
      }
      // Details of an exported event blanked, and an erasure invented for it.
      const victim = taken.events.findIndex(({ operation, details }) => operation === "data.write" && details !== null);
      const blanked = taken.events.with(victim, {
        ...(taken.events[victim] as PresentedEvent),
        details: null,
        details_salt: null,
      });
      cases.push({ name: `${form}: ${name}, blanked`, text: text({ ...taken, events: blanked }), verdict: "tampered" });
      cases.push(...damaged(`${form}: ${name}`, form, honest).filter(isTurn));
      // Without the seal it is an unsealed export, which the given key cannot establish.
      const bare = { ...taken, header: { ...taken.header, seal: null, proof: null, public_key: null } };
      cases.push({ name: `${form}: ${name}, without its seal`, text: text(bare), verdict: "undetermined" });
    }
    for (const [name, scope, window] of empty) {
      const honest = await take(form, scope, window);
      const taken = parts(form, honest);
      expect(taken.events).toEqual([]);
      cases.push({ name: `${form}: ${name}`, text: honest, verdict: "verified", completeness: "partial" });
      for (const [attack, change] of telling) {
        if (!isTurn()) continue;
        const changed = text(await change(structuredClone(taken)));
        if (changed === text(taken)) continue;
        cases.push({ name: `${form}: ${name}: ${attack}`, text: changed, verdict: "tampered" });
      }
    }
    await write("beta", "gone");
    for (const [scope, window] of [
      [{ scope: "workspace" }, {}],
      [{ scope: "workspace" }, { startMs: at(5) }],
      [{ agentId: "beta" }, {}],
    ] as const) {
      const key = `gone ${form} ${cases.length}`;
      await write("beta", key);
      // The daemon seals an erasure within seconds; the end of the export waits for it.
      const erased = await take(form, scope, window, async () => {
        await perform("data.erase", { agentId: "beta", key });
        setTimeout(() => writer.seal(), 100);
      });
      expect(parts(form, erased).erasures).toBeDefined();
      cases.push({ name: `${form}: erased while it was streamed ${key}`, text: erased, verdict: "verified" });
      const { erasures, ...rest } = parts(form, erased);
      cases.push({ name: `${form}: without the erasure ${key}`, text: text(rest), verdict: "tampered" });
      const [{ event }] = (erasures as { events: [{ event: JsonObject }] }).events;
      const unsealed = { ...rest, erasures: { events: [{ event, path: null }], seal: null } };
      cases.push({ name: `${form}: the erasure unsealed ${key}`, text: text(unsealed), verdict: "undetermined" });
      const { seal } = erasures as { seal: string };
      const later = seal.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`);
      const resealed = { ...rest, erasures: { ...(erasures as JsonObject), seal: later } };
      cases.push({
        name: `${form}: the erasure under a changed seal ${key}`,
        text: text(resealed),
        verdict: "tampered",
      });
      const other = forged(event, { erased: [[0, event.seq as number]], events: 1 });
      const invented = { ...rest, erasures: { ...(erasures as JsonObject), events: [{ event: other, path: [] }] } };
      cases.push({ name: `${form}: another erasure ${key}`, text: text(invented), verdict: "tampered" });
    }
  }
}, PROCESS_TEST_MS);
afterAll(() => {
  connection.close();
  rmSync(root, { recursive: true });
});

const SCRIPT = join(import.meta.dir, "../../tools/verify.py");
const python = Bun.which("python3");

describe("exports with a binding event", () => {
  test("there are many", () => expect(cases.length).toBeGreaterThan(400 / EVERY));

  /** The path of each case, and what governd verify says of it. */
  const verified: { path: string; found: Awaited<ReturnType<typeof verifyExportFile>> }[] = [];
  beforeAll(async () => {
    for (const [index, { text }] of cases.entries()) {
      const path = join(root, "cases", String(index));
      writeFileSync(path, text);
      verified.push({ path, found: await verifyExportFile(1, { path, trust }) });
    }
  }, PROCESS_TEST_MS);

  test("governd verify says of each what it must", () => {
    const wrong: unknown[] = [];
    for (const [index, { name, verdict, completeness }] of cases.entries()) {
      const { found } = verified[index] as (typeof verified)[number];
      const fits = completeness === undefined || found.report.completeness === completeness;
      if (found.verdict === verdict && fits) continue;
      wrong.push([name, found.verdict, found.report.problems, found.completeness]);
    }
    expect(wrong).toEqual([]);
  });

  test("without a key and a kept seal, none is complete", async () => {
    const honest = cases.filter(({ completeness, verdict }) => verdict === "verified" && completeness !== undefined);
    const paths = honest.map(({ text }, index) => {
      const path = join(root, "cases", `honest-${index}`);
      writeFileSync(path, text);
      return path;
    });
    for (const path of paths) {
      const { verdict, report } = await verifyExportFile(1, { path });
      expect([verdict, report.completeness]).toEqual(["verified", "unknown"]);
    }
    if (python === null) return;
    const said = Bun.spawnSync(["python3", "-B", SCRIPT, "--complete", ...paths]);
    const lines = said.stdout.toString().trimEnd().split("\n");
    expect(lines.filter((line) => !line.includes(": cannot be established. completeness"))).toEqual([]);
    expect(said.exitCode).toBe(EXIT.undetermined);
  });

  test.skipIf(python === null)("tools/verify.py says the same", () => {
    const paths = verified.map(({ path }) => path);
    const said = Bun.spawnSync(["python3", "-B", SCRIPT, "--json", "--public-key", publicKey, ...paths]);
    const { sources } = JSON.parse(said.stdout.toString()) as SaidReport;
    const wrong: unknown[] = [];
    for (const [index, { name, verdict }] of cases.entries()) {
      const [ours, theirs] = [verified[index]?.found.report, sources[index]].map((one) =>
        codesOf((one?.problems ?? []).map(({ code }) => code)),
      );
      const good = sources[index]?.verdict === verdict && Bun.deepEquals(theirs, ours);
      if (!good) wrong.push([name, verdict, ours, sources[index]]);
    }
    expect(wrong).toEqual([]);
    expect(said.exitCode).toBe(EXIT.tampered);
  });

  test.skipIf(!HAS_GO)("the third verifier accepts the same", async () => {
    await using third = new ThirdVerifier();
    const wrong: unknown[] = [];
    for (const [index, { name, verdict }] of cases.entries()) {
      const { code, why } = await third.run(verified[index]?.path as string, { keys: [publicKey] });
      if (code !== EXIT[verdict]) wrong.push(JSON.stringify([name, verdict, code, why]));
    }
    expect(wrong).toEqual([]);
  });
});
