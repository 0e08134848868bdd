/**
 * Importing entries from a file or a stream. Its lines are sent in batches, each with an idempotency key of the run and
 * the batch: a batch whose answer was lost is sent again, from a file also by a later run, and is written once.
 */
import { createReadStream, statSync } from "node:fs";
import { Failure } from "../../failure.ts";
import { RandomPool } from "../../ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { detectorWords } from "../../screen/detectors.ts";
import { complaintOf, type DaemonApi, requireGood } from "./api.ts";
import { StateFile } from "./state-file.ts";

/** The most lines of a batch, and its size, bytes: below `max_body`. */
const BATCH_LINES = 500;
const BATCH_BYTES = 2 * 1024 * 1024;
/** The longest line of an entry, bytes: what `max_body` allows, and what a batch of one entry adds to it. */
const LINE_BYTES = 4 * 1024 * 1024 - 4 * 1024;

/** The most refused lines that are kept with their reasons. */
export const MAX_SHOWN = 1_000;

interface ImportRequest {
  agent: string;
  keep: boolean;
}

/** The number of a line that was not written, counted from 1, and the reason, without the line's text. */
interface Refusal {
  line: number;
  reason: string;
}

/** The results of an import. */
interface Imported {
  written: number;
  /** Existing entries that were left as they are. */
  kept: number;
  refused: number;
  /** The first refusals, up to {@link MAX_SHOWN}. */
  refusals: Refusal[];
}

/** The progress of an import. */
interface ImportState extends Imported {
  /** Names the run: a part of its idempotency keys. */
  run: string;
  /** The bytes and lines of the file that are done. */
  bytes: number;
  lines: number;
}

/** A line of the file, without its line end. `bytes` includes the line end. */
interface Line {
  number: number;
  bytes: number;
  /** Null for a line that is too long or not UTF-8. */
  text: string | null;
}

/** A line as an operation of a batch. */
interface Sendable {
  line: number;
  operation: JsonObject;
}

/** Waits for this many ms. */
type Wait = (ms: number) => Promise<void>;

/** Bytes as a file or a stream gives them. */
type Chunks = AsyncIterable<Uint8Array>;

/**
 * Imports the file. `onBatch` gets the number of bytes that are done. Entries above the agent's rate limit are sent
 * again later. With `resume` it continues an import that was interrupted.
 * @throws {Failure}
 */
export async function importEntries(
  api: DaemonApi,
  { file, agent, keep, resume }: ImportRequest & { file: string; resume: boolean },
  onBatch: (bytes: number, total: number) => Promise<void>,
  wait: Wait = Bun.sleep,
): Promise<Imported> {
  const { size, mtimeMs } = statSync(file);
  const stateFile = new StateFile<ImportState>(`${file}.import.json`, { agent, keep, size, mtimeMs });
  const state = stateFile.read(resume) ?? newRun();
  stateFile.write(state);
  const onState = (now: ImportState) => {
    stateFile.write(now);
    return onBatch(now.bytes, size);
  };
  const done = await importChunks(
    api,
    { agent, keep, wait },
    createReadStream(file, { start: state.bytes }),
    state,
    onState,
  );
  stateFile.remove();
  return done;
}

/** Imports what a stream gives, such as standard input. It cannot be continued. @throws {Failure} */
export const importStream = (
  api: DaemonApi,
  wanted: ImportRequest,
  chunks: Chunks,
  onBatch: (bytes: number) => Promise<void>,
): Promise<Imported> =>
  importChunks(api, { ...wanted, wait: Bun.sleep }, chunks, newRun(), ({ bytes }) => onBatch(bytes));

const newRun = (): ImportState => ({
  ...{ run: new RandomPool().take(16).toHex(), bytes: 0, lines: 0 },
  ...{ written: 0, kept: 0, refused: 0, refusals: [] },
});

/** Imports the lines behind those that `state` counts, and updates it. `onState` is called after every batch. */
async function importChunks(
  api: DaemonApi,
  wanted: ImportRequest & { wait: Wait },
  chunks: Chunks,
  state: ImportState,
  onState: (state: ImportState) => Promise<void>,
): Promise<Imported> {
  for await (const lines of batchesOf(chunks, state.lines)) {
    await importBatch(api, wanted, lines, state);
    for (const { bytes } of lines) state.bytes += bytes;
    state.lines += lines.length;
    await onState(state);
  }
  const { written, kept, refused, refusals } = state;
  return { written, kept, refused, refusals };
}

async function importBatch(
  api: DaemonApi,
  { agent, keep, wait }: Pick<ImportRequest, "agent" | "keep"> & { wait: Wait },
  lines: readonly Line[],
  state: ImportState,
): Promise<void> {
  const refuse = (line: number, reason: string) => {
    state.refused += 1;
    if (state.refusals.length < MAX_SHOWN) state.refusals.push({ line, reason });
  };
  let sendable: Sendable[] = [];
  for (const { number: line, text } of lines) {
    if (text === "") continue;
    const entry = text === null ? null : entryOf(text);
    if (entry === null) refuse(line, "not a JSON object with the texts key and value");
    else sendable.push({ line, operation: { op: "write", ...entry, ...(keep && { if_version: null }) } });
  }
  for (let turn = 0; sendable.length > 0; ) {
    const body = { agent_id: agent, atomic: false, operations: sendable.map(({ operation }) => operation) };
    const idempotencyKey = `${state.run}/${state.lines + 1}${turn === 0 ? "" : `/${turn}`}`;
    const answer = await api.ask({ method: "POST", path: "/v1/data/batch", body, idempotencyKey });
    const wrong = answer.status === 400 ? /^operations\[(\d+)\]/.exec(String(answer.body.param)) : null;
    if (wrong !== null) {
      // Nothing is stored for an invalid request, so the rest is sent with the same key.
      const [one] = sendable.splice(Number(wrong[1]), 1);
      if (one === undefined) throw new Failure("environment", complaintOf(answer));
      refuse(one.line, String(answer.body.detail).replace(/^operations\[\d+\]: /, ""));
      continue;
    }
    const results = requireGood(answer).results as JsonObject[];
    const early: Sendable[] = [];
    let seconds = 0;
    for (const [index, one] of sendable.entries()) {
      const { allowed, conflict, retry_after_seconds: later, ...rest } = results[index] ?? {};
      if (allowed === true) state.written += 1;
      else if (conflict === true) state.kept += 1;
      else if (typeof later !== "number") refuse(one.line, reasonOf(rest));
      else {
        seconds = later;
        early.push(one);
      }
    }
    if (early.length > 0) await wait(seconds * 1_000);
    sendable = early;
    turn += 1;
  }
  // A batch's malformed lines were refused before the lines that the daemon refused.
  state.refusals.sort((one, other) => one.line - other.line);
}

/** Says which policy refused an entry, and what was found where. */
function reasonOf({ blocked_by: blockedBy, findings }: JsonObject): string {
  const found = Array.isArray(findings) ? (findings as { detector: string; field: string }[]) : [];
  const what = found.map(({ detector, field }) => `${detectorWords(detector)} in ${field}`);
  return `blocked by ${blockedBy}${what.length === 0 ? "" : `: ${[...new Set(what)].join(", ")}`}`;
}

/** Returns the entry in a line; null when the line has none. */
function entryOf(text: string): JsonObject | null {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
  if (!isJsonObject(value) || typeof value.key !== "string" || typeof value.value !== "string") return null;
  const { key, value: content, metadata = {}, expires_at } = value;
  return { key, value: content, metadata, ...(typeof expires_at === "string" && { expires_at }) };
}

/** The lines behind the first `done`, in batches. The batches are the same whenever a file is read. */
async function* batchesOf(chunks: Chunks, done: number): AsyncGenerator<Line[]> {
  let batch: Line[] = [];
  let bytes = 0;
  for await (const line of linesOf(chunks, done)) {
    if (batch.length > 0 && (batch.length === BATCH_LINES || bytes + line.bytes > BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(line);
    bytes += line.bytes;
  }
  if (batch.length > 0) yield batch;
}

async function* linesOf(chunks: Chunks, done: number): AsyncGenerator<Line> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = done;
  let pieces: Uint8Array[] = [];
  let length = 0;
  const take = (piece: Uint8Array) => {
    length += piece.length;
    // The rest of a too long line is not kept.
    if (length <= LINE_BYTES) pieces.push(piece);
  };
  const end = (): Line => {
    const line = { number: ++number, bytes: length, text: length > LINE_BYTES ? null : textOf(decoder, pieces) };
    [pieces, length] = [[], 0];
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      take(chunk.subarray(from, at + 1));
      from = at + 1;
      yield end();
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  if (length > 0) yield end();
}

const LF = 10;

function textOf(decoder: TextDecoder, pieces: readonly Uint8Array[]): string | null {
  try {
    return decoder.decode(Buffer.concat(pieces)).trim();
  } catch {
    return null;
  }
}
