/** Exporting an agent's entries page by page, to a file so that an interrupted export can be continued. */
import { existsSync, renameSync } from "node:fs";
import { open } from "node:fs/promises";
import { Failure } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { type DaemonApi, requireGood } from "./api.ts";
import { StateFile } from "./state-file.ts";

/** The entries of a page: so few, since a value has up to 1 MiB. */
const PAGE = 100;

interface ExportRequest {
  agent: string;
  prefix: string;
}

/** The progress of an export. */
interface ExportState {
  /** The next page; null before the first one and after the last. */
  cursor: string | null;
  /** The bytes and entries of the pages so far. */
  bytes: number;
  entries: number;
  total: number;
}

const NOTHING: ExportState = { cursor: null, bytes: 0, entries: 0, total: 0 };

type OnPage = (entries: number, total: number) => Promise<void>;

/** Writes the entries to standard output, for example, and returns how many there are. @throws {Failure} */
export async function streamEntries(
  api: DaemonApi,
  request: ExportRequest,
  write: (text: string) => Promise<void>,
  onPage: OnPage,
): Promise<{ entries: number }> {
  let entries = 0;
  for await (const { text, state } of pagesOf(api, request, NOTHING)) {
    await write(text);
    entries = state.entries;
    await onPage(entries, state.total);
  }
  return { entries };
}

/**
 * Writes the file and returns how many entries it holds. `onPage` is called after every page. With `resume` it continues
 * an export that was interrupted.
 * @throws {Failure}
 */
export async function exportEntries(
  api: DaemonApi,
  { file, agent, prefix, resume }: ExportRequest & { file: string; resume: boolean },
  onPage: OnPage,
): Promise<{ entries: number }> {
  if (existsSync(file)) throw new Failure("path_unusable", `${file} exists. Name another file, or remove it.`);
  const part = `${file}.part`;
  const stateFile = new StateFile<ExportState>(`${part}.json`, { agent, prefix });
  const found = stateFile.read(resume);
  let { bytes, entries } = found ?? NOTHING;
  const handle = await open(part, found === null ? "w" : "r+");
  try {
    await handle.truncate(bytes);
    for await (const { text, state } of pagesOf(api, { agent, prefix }, found ?? NOTHING)) {
      const lines = Buffer.from(text);
      await handle.write(lines, 0, lines.length, bytes);
      await handle.sync();
      ({ bytes, entries } = state);
      if (state.cursor !== null) stateFile.write(state);
      await onPage(entries, state.total);
    }
  } finally {
    await handle.close();
  }
  renameSync(part, file);
  stateFile.remove();
  return { entries };
}

/** The pages of an agent's entries as lines, from where an export came to, each with the progress after it. */
async function* pagesOf(
  api: DaemonApi,
  { agent, prefix }: ExportRequest,
  begun: ExportState,
): AsyncGenerator<{ text: string; state: ExportState }> {
  let { cursor, bytes, entries, total } = begun;
  do {
    const query = new URLSearchParams({ agent_id: agent, prefix, limit: `${PAGE}`, include_values: "true" });
    if (cursor === null) query.set("count", "true");
    else query.set("cursor", cursor);
    const page = requireGood(await api.ask({ path: `/v1/data/list?${query}` }));
    const rows = page.data as JsonObject[];
    const text = rows.map((row) => `${JSON.stringify(exported(row))}\n`).join("");
    bytes += Buffer.byteLength(text);
    entries += rows.length;
    if (cursor === null) total = Number(page.total);
    cursor = page.next_cursor as string | null;
    yield { text, state: { cursor, bytes, entries, total } };
  } while (cursor !== null);
}

/** A line of the file. */
function exported(row: JsonObject): JsonObject {
  const { key, value, metadata, created_at, updated_at, expires_at, audit_id } = row as Record<string, string>;
  return { key, value, metadata, created_at, updated_at, expires_at, audit_id } as JsonObject;
}
