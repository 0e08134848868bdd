/** Exporting an agent's entries to a file, page by page, so that an interrupted export can be continued. */
import { existsSync, renameSync } from "node:fs";
import { open } from "node:fs/promises";
import { Failure } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { type DaemonApi, requireGood } from "./api.ts";
import { StateFile } from "./state-file.ts";

/** The entries of a page: so few, since a value has up to 1 MiB. */
const PAGE = 100;

interface ExportWish {
  file: string;
  agent: string;
  prefix: string;
  resume: boolean;
}

/** The progress of an export. */
interface ExportState {
  cursor: string;
  /** The bytes and entries of the unfinished file. */
  bytes: number;
  entries: number;
  total: number;
}

/** Writes the file and returns how many entries it holds. `onPage` is called after every page. @throws {Failure} */
export async function exportEntries(
  api: DaemonApi,
  { file, agent, prefix, resume }: ExportWish,
  onPage: (entries: number, total: number) => Promise<void>,
): Promise<{ entries: number }> {
  if (existsSync(file)) throw new Failure("path_unusable", `${file} exists. Name another file, or remove it.`);
  const part = `${file}.part`;
  const stateFile = new StateFile<ExportState>(`${part}.json`, { agent, prefix });
  const found = stateFile.read(resume);
  let {
    cursor = null,
    bytes = 0,
    entries = 0,
    total = 0,
  }: Partial<Omit<ExportState, "cursor">> & { cursor?: string | null } = found ?? {};
  const handle = await open(part, found === null ? "w" : "r+");
  try {
    await handle.truncate(bytes);
    do {
      const query = new URLSearchParams({ agent_id: agent, prefix, limit: `${PAGE}`, include_values: "true" });
      if (cursor === null) query.set("count", "true");
      else query.set("cursor", cursor);
      const page = requireGood(await api.ask({ path: `/v1/data/list?${query}` }));
      const rows = page.data as JsonObject[];
      const text = Buffer.from(rows.map((row) => `${JSON.stringify(exported(row))}\n`).join(""));
      await handle.write(text, 0, text.length, bytes);
      await handle.sync();
      bytes += text.length;
      entries += rows.length;
      if (cursor === null) total = Number(page.total);
      cursor = page.next_cursor as string | null;
      if (cursor !== null) stateFile.write({ cursor, bytes, entries, total });
      await onPage(entries, total);
    } while (cursor !== null);
  } finally {
    await handle.close();
  }
  renameSync(part, file);
  stateFile.remove();
  return { entries };
}

/** A line of the file. */
function exported(row: JsonObject): JsonObject {
  const { key, value, metadata, created_at, updated_at, expires_at, audit_id } = row as Record<string, string>;
  return { key, value, metadata, created_at, updated_at, expires_at, audit_id } as JsonObject;
}
