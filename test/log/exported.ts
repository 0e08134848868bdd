/** Exports of sample logs, as the daemon would make them. */
import { parseEvent } from "../../src/log/event.ts";
import type { ExportHeader } from "../../src/log/export-schema.ts";
import { exportProof, exportWriter } from "../../src/log/export-write.ts";
import { eventHash } from "../../src/log/hash.ts";
import { canonicalText, hexOf, type StoredEvent } from "../../src/log/rows.ts";
import { TileWriter } from "../../src/log/tiles.ts";
import { type SampleEvent, SampleLog } from "./sample.ts";
import { SealedLog } from "./sealed.ts";
import { auditPath, type MemoryTiles, mth } from "./tree.ts";

/** What is exported. Without an agent it is the whole workspace, and without times everything. */
export interface Wanted {
  agent?: string;
  start?: string;
  end?: string;
}

/** An export, and the log after it, whose last event is the event of the export. */
export interface SampleExport<Log extends SampleLog = SampleLog> {
  about: Omit<ExportHeader, "format">;
  events: readonly SampleEvent[];
  log: Log;
}

/** Exports a copy of a log, and seals the export when the log has a key. */
export async function exportOf<Log extends SampleLog>(
  log: Log,
  form: "json" | "ndjson" | "csv",
  { agent, start, end }: Wanted = {},
): Promise<SampleExport<Log>> {
  const after = log.copy();
  const vocabulary = log.vocabulary;
  const inScope = log.events.filter(({ canonical }) => agent === undefined || parseEvent(canonical).agent_id === agent);
  const timeOf = ({ canonical }: SampleEvent): string => parseEvent(canonical).timestamp;
  const isLate = (event: SampleEvent): boolean => end !== undefined && timeOf(event) >= end;
  const from = inScope.findIndex((event) => start === undefined || timeOf(event) >= start);
  const first = from < 0 ? inScope.length : from;
  const last = inScope.findIndex(isLate);
  const events = inScope.slice(first, last < 0 ? inScope.length : Math.max(first, last));
  const leaves = (of: SampleLog): Buffer[] => of.events.map(({ hash }) => Buffer.from(hash, "hex"));
  after.append({
    agent: agent ?? null,
    operation: "audit.export",
    details: {
      ...(agent === undefined && { scope: "workspace" }),
      ...{ format: form, event_count: events.length, first: edge(events[0]), last: edge(events.at(-1)) },
      ...(start !== undefined && { start_time: start }),
      ...(end !== undefined && { end_time: end }),
      ...{ tree_root: mth(leaves(log)).toString("hex"), restores: 0 },
      ...{ vocabulary },
    },
  });
  const binding = after.events.at(-1) as SampleEvent;
  const before = inScope[first - 1];
  const next = inScope[first + events.length] ?? binding;
  const size = after.events.length;
  const run = { first: seqOf(before ?? events[0] ?? next), last: seqOf(next) };
  const sealed = after instanceof SealedLog ? after : null;
  const proof = sealed && {
    ...(await exportProof(agent ?? null, run, size, await tilesOf(sealed))),
    binding: auditPath(size - 1, leaves(after)).map((hash) => hash.toString("hex")),
  };
  const about = {
    vocabulary,
    ...{ workspace_id: log.workspaceId, agent_id: agent ?? null, start_time: start ?? null, end_time: end ?? null },
    ...{ exported_at: timeOf(binding), event_count: events.length },
    ...{ before: before === undefined ? null : bodyOf(before), after: bodyOf(next), binding: shown(binding) },
    ...{ proof, seal: sealed?.seal() ?? null, public_key: sealed?.publicKey ?? null },
  } as Omit<ExportHeader, "format">;
  return { about, events, log: after };
}

/** Returns a log that has the events of a database. */
export function logOf(workspaceId: string, events: readonly StoredEvent[]): SampleLog {
  const heads: SampleLog["heads"] = new Map();
  const all = events.map((stored) => {
    const canonical = canonicalText(stored);
    const { agent_id, agent_seq, seq } = parseEvent(canonical);
    const hash = eventHash(canonical);
    heads.set(agent_id, { agent_seq, hash });
    return { canonical, hash, seq, details: stored.details as string, salt: hexOf(stored.salt as string) };
  });
  return Object.assign(new SampleLog(workspaceId), { events: all, heads });
}

/** Returns the text of an export, also with other events or members. */
export function written(
  form: "json" | "ndjson" | "csv",
  { about, events }: { about: Omit<ExportHeader, "format">; events: readonly StoredEvent[] },
): string {
  const writer = exportWriter(form, { ...about, event_count: events.length });
  return writer.begin() + events.map((event) => writer.event(event)).join("") + writer.end();
}

/** An export whose seal, key and proof were taken off. */
export const unsealed = <E extends SampleExport>(exported: E): E => ({
  ...exported,
  about: { ...exported.about, seal: null, public_key: null, proof: null },
});

/** Returns the tree of a log of any length. */
async function tilesOf(log: SealedLog): Promise<MemoryTiles> {
  const tiles = log.tiles();
  const writer = await TileWriter.open(0, tiles);
  for (const { hash } of log.events) writer.append(Buffer.from(hash, "hex"));
  tiles.store(writer.takeTiles());
  return tiles;
}

const seqOf = ({ canonical }: SampleEvent): number => parseEvent(canonical).seq;
const bodyOf = ({ canonical }: SampleEvent) => JSON.parse(canonical);
const shown = ({ canonical, details, salt, hash }: SampleEvent) => ({
  ...JSON.parse(canonical),
  ...{ details: JSON.parse(details), details_salt: salt, hash },
});

function edge(event: SampleEvent | undefined) {
  if (event === undefined) return null;
  const { seq, agent_seq } = parseEvent(event.canonical);
  return { seq, agent_seq, hash: event.hash };
}
