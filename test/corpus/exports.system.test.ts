/** Tamperings of exports of the older format, and honest ones, with what both programs must say of each. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEvent } from "../../src/log/event.ts";
import type { OlderExportHeader } from "../../src/log/export-schema.ts";
import { exportProof, exportWriter } from "../../src/log/export-write.ts";
import { parseSeal } from "../../src/log/seal.ts";
import type { Verdict } from "../../src/verify/problems.ts";
import { verifyExportFile } from "../../src/verify/sources.ts";
import type { SampleEvent } from "../log/sample.ts";
import { SealedLog } from "../log/sealed.ts";
import { inMemory } from "../temporary.ts";
import { codesOf, HAS_PYTHON, type Said, SecondVerifier } from "../verify/second-verifier.ts";

const EVENTS = 60;
const log = new SealedLog().grow(EVENTS);
const seal = log.seal();
const beta = log.events.filter(({ canonical }) => parseEvent(canonical).agent_id === "beta");
const time = (seq: number): string => parseEvent((log.events[seq] as SampleEvent).canonical).timestamp;
const seqOf = ({ canonical }: SampleEvent): number => parseEvent(canonical).seq;

type Form = "json" | "ndjson";
type Wanted = { events: readonly SampleEvent[]; seal?: string | null } & Partial<
  Omit<OlderExportHeader, "seal" | "proof">
>;

/** Writes an export with counts, proof and head that fit its events, as an attacker without the key would. */
async function write(form: Form, { events, seal: by = seal, ...header }: Wanted): Promise<string> {
  const [first, last] = [events[0], events.at(-1)];
  const agent = header.agent_id ?? null;
  let proof: OlderExportHeader["proof"] = null;
  if (first && last && by !== null) {
    const run = { first: seqOf(first), last: seqOf(last) };
    proof = await exportProof(agent, run, parseSeal(by).size, log.tiles());
  }
  const writer = exportWriter(form, {
    ...{ workspace_id: log.workspaceId, agent_id: null, start_time: null, end_time: null },
    ...{ exported_at: "2026-02-01T00:00:00.000Z", starts_after: null, event_count: events.length, proof },
    ...{ seal: by, public_key: by === null ? null : log.publicKey },
    ...header,
  });
  return writer.begin() + events.map((event) => writer.event(event)).join("") + writer.end();
}

/** Returns the event before one of beta's, as a header names it. */
function before(index: number): { agent_seq: number; hash: string } {
  const event = parseEvent((beta[index] as SampleEvent).canonical);
  return { agent_seq: event.agent_seq - 1, hash: event.previous_hash };
}

const all = log.events;
const window = { events: all.slice(10, 41), start_time: time(10), end_time: time(41) };
const agent = { events: beta, agent_id: "beta" };
const agentWindow = {
  ...{ events: beta.slice(4, 12), agent_id: "beta", starts_after: before(4) },
  start_time: time(seqOf(beta[4] as SampleEvent)),
  end_time: time(seqOf(beta[12] as SampleEvent)),
};

type Edit = (text: string) => string;
interface Case {
  name: string;
  wanted: Wanted;
  verdict: Verdict;
  /** A problem code of governd's own report. */
  code?: string;
  completeness?: "complete" | "partial" | "unknown";
  edit?: Edit;
  /** Tree sizes of kept seals that are given. */
  seals?: number[];
  keyed?: boolean;
}

const append =
  (tail: string): Edit =>
  (text) =>
    text + tail;
const header =
  (member: string, value: unknown): Edit =>
  (text) =>
    text.replace(new RegExp(`"${member}":("[^"]*"|null|[0-9]+)`), `"${member}":${JSON.stringify(value)}`);

const honest: Case[] = [
  { name: "the workspace", wanted: { events: all }, verdict: "verified", completeness: "complete" },
  { name: "the workspace, and its seal kept", wanted: { events: all }, verdict: "verified", seals: [60] },
  { name: "the workspace, and older seals kept", wanted: { events: all }, verdict: "verified", seals: [8, 33] },
  {
    name: "the workspace, unsealed",
    wanted: { events: all, seal: null },
    ...{ verdict: "verified", keyed: false, completeness: "unknown" },
  },
  {
    name: "the workspace, unsealed, with a kept seal",
    wanted: { events: all, seal: null },
    ...{ verdict: "verified", keyed: false, seals: [40], completeness: "complete" },
  },
  { name: "a window", wanted: window, verdict: "verified", completeness: "unknown" },
  { name: "a window, and its seal kept", wanted: window, verdict: "verified", seals: [60] },
  { name: "a window, and another seal kept", wanted: window, verdict: "undetermined", seals: [55] },
  { name: "a window without an end", wanted: { events: all.slice(9), start_time: time(9) }, verdict: "verified" },
  { name: "a window without a start", wanted: { events: all.slice(0, 9), end_time: time(9) }, verdict: "verified" },
  {
    name: "a window without a start, and a later seal kept",
    wanted: { events: all.slice(0, 9), end_time: time(9) },
    ...{ verdict: "undetermined", seals: [30] },
  },
  {
    name: "a window whose times have no decimals",
    wanted: { ...window, start_time: "2026-01-01T00:00:10Z", end_time: "2026-01-01T00:00:41Z" },
    verdict: "verified",
  },
  { name: "an agent that acted last", wanted: agent, verdict: "verified", completeness: "complete" },
  {
    name: "an agent that did not act last",
    wanted: { events: all.filter(({ canonical }) => canonical.includes('"agent_id":"alpha"')), agent_id: "alpha" },
    ...{ verdict: "verified", completeness: "unknown" },
  },
  { name: "a window of an agent", wanted: agentWindow, verdict: "verified", completeness: "unknown" },
  { name: "an empty window", wanted: { events: [], start_time: time(3), end_time: time(3) }, verdict: "undetermined" },
  { name: "with white space behind it", wanted: { events: all }, verdict: "verified", edit: append(" \r\n\t\n") },
];

const window_ = { verdict: "tampered", code: "export_window" } as const;
const malformed = { verdict: "tampered", code: "event_malformed" } as const;
const TAILS: [string, string][] = [
  ["text", "x"],
  ["a line", "more\n"],
  ["an object", "{}\n"],
  ["an event's line", '{"type":"event"}\n'],
  ["a null byte", "\0"],
  ["blank lines and text", "\n\n  \n."],
];

const tampered: Case[] = [
  { name: "the end cut off", wanted: { events: all.slice(0, 10) }, ...window_ },
  { name: "one event cut off", wanted: { events: all.slice(0, -1) }, ...window_ },
  { name: "the end cut off, and the seal kept", wanted: { events: all.slice(0, 10) }, seals: [60], ...window_ },
  { name: "the end cut off, unverified", wanted: { events: all.slice(0, 10) }, keyed: false, ...window_ },
  {
    name: "the end cut off under an older seal, and the newer one kept",
    wanted: { events: all.slice(0, 30), seal: log.seal(30) },
    ...{ seals: [60], verdict: "tampered", code: "seal_beyond_log" },
  },
  {
    name: "the end and the seal cut off, and the seal kept",
    wanted: { events: all.slice(0, 30), seal: null },
    ...{ seals: [60], keyed: false, verdict: "tampered", code: "seal_beyond_log" },
  },
  { name: "the beginning cut off", wanted: { events: all.slice(1) }, ...window_ },
  { name: "all events cut off", wanted: { events: [] }, ...window_ },
  { name: "all events cut off, and the seal kept", wanted: { events: [] }, seals: [60], ...window_ },
  {
    name: "all events and the seal cut off",
    wanted: { events: [], seal: null },
    verdict: "undetermined",
    keyed: false,
  },
  {
    name: "all events and the seal cut off, and the seal kept",
    wanted: { events: [], seal: null },
    ...{ seals: [60], keyed: false, verdict: "tampered", code: "seal_beyond_log" },
  },
  { name: "all of an agent's events cut off", wanted: { ...agent, events: [] }, verdict: "undetermined" },
  { name: "all events of a window cut off", wanted: { ...window, events: [] }, verdict: "undetermined" },
  { name: "an agent's beginning cut off", wanted: { ...agent, events: beta.slice(3) }, ...window_ },
  {
    name: "an agent's beginning cut off, with the event before it named",
    wanted: { ...agent, events: beta.slice(3), starts_after: before(3) },
    ...window_,
  },
  { name: "an event named before an agent's first", wanted: { ...agent, starts_after: before(3) }, ...window_ },
  { name: "another event named before a window", wanted: { ...agentWindow, starts_after: before(5) }, ...window_ },
  { name: "no event named before a window", wanted: { ...agentWindow, starts_after: null }, ...window_ },
  {
    name: "a hash that no event has before a window",
    wanted: { ...agentWindow, starts_after: { ...before(4), hash: "0".repeat(64) } },
    ...window_,
  },
  { name: "an event named before a workspace's", wanted: { events: all, starts_after: before(3) }, ...window_ },
  { name: "an event named before a workspace's window", wanted: { ...window, starts_after: before(3) }, ...window_ },
  { name: "an event named before none", wanted: { ...agentWindow, events: [], starts_after: before(4) }, ...window_ },
  ...(
    [
      ["starts later", { start_time: time(11) }],
      ["ends earlier", { end_time: time(40) }],
      ["ends before it starts", { end_time: time(5) }],
      ["is of another day", { start_time: "2025-01-01T00:00:00.000Z", end_time: "2025-01-02T00:00:00.000Z" }],
      ["starts at no time", { start_time: "yesterday" }],
      ["ends at no time", { end_time: "" }],
      ["states no start", { start_time: null }],
    ] as const
  ).map(([name, times]): Case => ({ name: `a window that ${name}`, wanted: { ...window, ...times }, ...window_ })),
  { name: "a window with an event before it", wanted: { ...window, events: all.slice(9, 41) }, ...window_ },
  { name: "a window with an event after it", wanted: { ...window, events: all.slice(10, 42) }, ...window_ },
  { name: "a window said to be whole", wanted: { events: window.events }, ...window_ },
  { name: "an agent's window with later events", wanted: { ...agentWindow, events: beta.slice(4, 14) }, ...window_ },
  {
    name: "a seal of other events",
    wanted: { events: all },
    edit: (text) => text.replace(/(\\n60\\n)(.)/, (_, size, digit) => size + (digit === "A" ? "B" : "A")),
    verdict: "tampered",
  },
  {
    name: "another key",
    wanted: { events: all },
    edit: header("public_key", "x"),
    verdict: "tampered",
    code: "seal_invalid",
  },
  {
    name: "no seal, and a proof",
    wanted: { events: all, seal: null, public_key: log.publicKey },
    keyed: false,
    verdict: "tampered",
    code: "seal_invalid",
  },
  {
    name: "a seal that is none",
    wanted: { events: all },
    edit: header("seal", "x"),
    verdict: "tampered",
    code: "seal_invalid",
  },
  {
    name: "a member more in the header",
    wanted: { events: all },
    edit: (text) => text.replace('"exported_at"', '"note":1,"exported_at"'),
    ...malformed,
  },
  { name: "a header's member of another type", wanted: { events: all }, edit: header("exported_at", 5), ...malformed },
  { name: "a starts_after of another type", wanted: { events: all }, edit: header("starts_after", "x"), ...malformed },
  {
    name: "a starts_after with more members",
    wanted: agentWindow,
    edit: (text) => text.replace('"starts_after":{', '"starts_after":{"x":1,'),
    ...malformed,
  },
  {
    name: "a member more in an event",
    wanted: { events: all },
    edit: (text) => text.replace('"operation"', '"note":1,"operation"'),
    ...malformed,
  },
  {
    name: "a member missing from the header",
    wanted: { events: all },
    edit: (text) => text.replace('"end_time":null,', ""),
    ...malformed,
  },
  ...TAILS.map(
    ([name, tail]): Case => ({
      name: `${name} behind the end`,
      wanted: { events: all },
      edit: append(tail),
      ...malformed,
    }),
  ),
  ...TAILS.map(
    ([name, tail]): Case => ({
      name: `${name} behind a window's end`,
      wanted: window,
      edit: append(tail),
      ...malformed,
    }),
  ),
];

const onlyNdjson: Case[] = [
  {
    name: "a member more in the trailer",
    wanted: { events: all },
    edit: (text) => text.replace('"type":"trailer"', '"type":"trailer","note":1'),
    ...malformed,
  },
  {
    name: "a trailer without its head",
    wanted: { events: all },
    edit: (text) => text.replace(/,"head":"[0-9a-f]+"/, ""),
    ...malformed,
  },
  { name: "a second trailer", wanted: { events: all }, edit: (text) => text + text.split("\n").at(-2), ...malformed },
  {
    name: "a line of another kind",
    wanted: { events: all },
    edit: (text) => text.replace('"type":"event"', '"type":"note"'),
    ...malformed,
  },
  {
    name: "its trailer missing",
    wanted: { events: all },
    edit: (text) => text.slice(0, text.lastIndexOf('{"type":"trailer"')),
    verdict: "undetermined",
  },
  {
    name: "a member of the trailer twice",
    wanted: { events: all },
    edit: (text) => text.replace('"type":"trailer"', '"type":"trailer","head":null'),
    ...malformed,
  },
];

const EXIT = { verified: 0, tampered: 1, undetermined: 2 } as const;
const python = new SecondVerifier();
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(inMemory(), "governd-exports-"));
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** Returns what tools/verify.py says. */
async function second(path: string, { keyed = true, seals = [] }: Case, ...more: string[]): Promise<Said> {
  const kept = join(directory, "kept.txt");
  writeFileSync(kept, seals.map((size) => `${log.seal(size)}\n`).join(""));
  const given = [...(keyed ? ["--public-key", log.publicKey] : []), ...(seals.length > 0 ? ["--seal", kept] : [])];
  return await python.run(...given, ...more, path);
}

describe.each(["json", "ndjson"] as const)("%s", (form) => {
  const cases = [...honest, ...tampered, ...(form === "ndjson" ? onlyNdjson : [])];
  test.each(cases.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const { wanted, verdict, code, completeness, edit, seals = [], keyed = true } = one;
    const text = await write(form, wanted);
    const edited = edit ? edit(text) : text;
    if (edit) expect(edited).not.toBe(text);
    const path = join(directory, "export");
    writeFileSync(path, edited);
    const trust = {
      publicKeys: keyed ? [log.key.publicKey] : [],
      anchors: seals.map((size) => parseSeal(log.seal(size))),
    };
    const found = await verifyExportFile(1, { path, trust });
    expect([found.verdict, found.report.problems.map((problem) => problem.message)]).toEqual([
      verdict,
      verdict === "verified" ? [] : expect.any(Array),
    ]);
    if (code !== undefined) expect(found.report.problems.map((problem) => problem.code as string)).toContain(code);
    if (completeness !== undefined) expect(found.report.completeness).toBe(completeness);
    if (verdict === "tampered") expect(found.report.completeness).toBe("unknown");
    if (!HAS_PYTHON) return;
    const said = await second(path, one);
    const codes = codesOf(found.report.problems.map((problem) => problem.code));
    expect([said.code, codesOf(said.codes)], said.out).toEqual([EXIT[verdict], codes]);
    const known = verdict === "verified" && found.report.completeness === "unknown";
    if (completeness !== undefined)
      expect((await second(path, one, "--complete")).code).toBe(known ? 2 : EXIT[verdict]);
  });

  test("bytes after the end that are not text", async () => {
    const path = join(directory, "export");
    const whole = Buffer.from(await write(form, { events: all }));
    const tail = Buffer.from([0xff, 0xfe]);
    for (const bytes of [Buffer.concat([whole, tail]), Buffer.concat([whole.subarray(0, -1), tail])]) {
      writeFileSync(path, bytes);
      const trust = { publicKeys: [log.key.publicKey] };
      const { verdict } = await verifyExportFile(1, { path, trust });
      // In ndjson the bytes are in the trailer's own line then.
      const expected = form === "ndjson" && bytes.length === whole.length + 1 ? "undetermined" : "tampered";
      expect(verdict).toBe(expected);
      if (HAS_PYTHON) expect((await second(path, honest[0] as Case)).code).toBe(EXIT[expected]);
    }
  });
});
