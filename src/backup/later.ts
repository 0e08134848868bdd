/**
 * The later logs that a restore is given: files of workspaces, exports, or the data directory that is replaced. Each must
 * verify, and continue the log in the backup.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { type Head, readHead } from "../core/writer/head.ts";
import { Failure } from "../failure.ts";
import type { JsonObject } from "../json.ts";
import { isLogEmpty } from "../store/closing.ts";
import { openConnection } from "../store/connection.ts";
import type { EncryptionKey } from "../store/encryption.ts";
import { isNdjsonHeader } from "../verify/events/export-lines.ts";
import { verifyDatabaseFile, verifyExportFile } from "../verify/sources.ts";
import { type LaterEvent, Losses } from "./losses.ts";
import type { ManifestWorkspace } from "./manifest.ts";

/** A later log of a workspace: where it ends, and what was lost after the backup's copy. */
export interface Later {
  head: Head;
  losses: Losses;
}

/** An event of a later log, with its place. */
type PlacedEvent = LaterEvent & { seq: number; hash: string };

interface Reading {
  copies: ReadonlyMap<string, ManifestWorkspace>;
  encryptionKey: EncryptionKey | null;
}

/**
 * Reads later logs. Of a workspace that has several, the longest counts. A file in a directory that does not verify is
 * passed over: it settles nothing.
 * @param workspaces those of the backup
 * @throws {Failure} `usage` when a file that was named cannot be used
 */
export async function readLater(
  paths: readonly string[],
  workspaces: readonly ManifestWorkspace[],
  encryptionKey: EncryptionKey | null,
): Promise<Map<string, Later>> {
  const copies = new Map(workspaces.map((copy) => [copy.workspace_id, copy]));
  const found = new Map<string, Later>();
  for (const path of paths) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) throw new Failure("usage", `--later ${path} is missing.`);
    for (const file of stat.isDirectory() ? filesOf(path, copies) : [path]) {
      const read = await readOne(file, { copies, encryptionKey });
      if (typeof read === "string") {
        if (!stat.isDirectory()) throw new Failure("usage", `--later ${file} cannot be used: ${read}.`);
        continue;
      }
      const known = found.get(read.workspaceId);
      if (known === undefined || known.head.seq < read.head.seq) found.set(read.workspaceId, read);
    }
  }
  return found;
}

/** Returns the files of the backup's workspaces in a data directory. */
function filesOf(root: string, copies: Reading["copies"]): string[] {
  const folder = existsSync(join(root, "workspaces")) ? join(root, "workspaces") : root;
  const names = readdirSync(folder).filter((name) => name.endsWith(".db") && copies.has(basename(name, ".db")));
  return names.map((name) => join(folder, name));
}

/** Reads one file. Returns why it cannot be used. */
async function readOne(path: string, reading: Reading): Promise<(Later & { workspaceId: string }) | string> {
  const file = { path, immutable: isLogEmpty(path) };
  const { encryptionKey, copies } = reading;
  const ofFile = await verifyDatabaseFile(file, { path, encryptionKey, threads: { count: 1 } });
  const isFile = ofFile.report.kind === "workspace";
  const { report, verdict } = isFile ? ofFile : await verifyExportFile(1, { path });
  if (verdict !== "verified") return report.problems[0]?.message ?? "it does not verify";
  const workspaceId = report.workspace_id ?? "";
  const copy = copies.get(workspaceId);
  if (copy === undefined) return `the backup has no workspace ${workspaceId}`;
  const { events, head } = isFile ? readFile(file, copy, encryptionKey) : readExport(path);
  const at = events.findIndex(({ seq, hash }) => seq === copy.head_seq && hash === copy.head_hash);
  if (at < 0) return "it does not continue the log in the backup";
  const { seq, hash } = head;
  return { workspaceId, head: { seq, hash }, losses: new Losses(events.slice(at + 1)) };
}

/** A log that was verified: its last event, and the events among which the copy ends and losses are stated. */
interface Log {
  head: Head;
  events: PlacedEvent[];
}

/** Reads the event with which the copy ends, and those behind it that may state a loss. */
function readFile({ path, immutable }: File, copy: ManifestWorkspace, encryptionKey: EncryptionKey | null): Log {
  using connection = openConnection(path, { ...(immutable ? { immutable } : { readOnly: true }), encryptionKey });
  const rows = connection.all<[number, string, string, string | null, string, string | null]>(
    `SELECT seq, lower(hex(hash)), operation, agent_id, result, details FROM events
     WHERE seq >= ? AND (seq = ?1 OR agent_id IS NULL OR operation IN ('agent.suspend', 'agent.resume')) ORDER BY seq`,
    [copy.head_seq],
  );
  const events = rows.map(([seq, hash, operation, agent_id, result, details]) => {
    return { seq, hash, operation, agent_id, result, details: details === null ? null : JSON.parse(details) };
  });
  return { head: readHead(connection), events };
}

type File = Parameters<typeof verifyDatabaseFile>[0];

/** Reads all events of an export. */
function readExport(path: string): Log {
  const text = readFileSync(path, "utf8");
  const lines = text.trimStart().split("\n");
  const events = isNdjsonHeader(lines[0] ?? "")
    ? eventsOfLines(lines)
    : (JSON.parse(text) as { events: PlacedEvent[] }).events;
  return { head: events.at(-1) as PlacedEvent, events };
}

const eventsOfLines = (lines: readonly string[]): PlacedEvent[] =>
  lines
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as JsonObject)
    .filter(({ type }) => type === "event") as unknown as PlacedEvent[];
