/** Changes to a workspace file, each on a copy of it. */

import { type Connection, openConnection } from "../../src/store/connection.ts";
import type { SqlValue } from "../../src/store/values.ts";
import type { VerificationReport } from "../../src/verify/events/contract.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { copyDatabase } from "../database-files.ts";
import { effort } from "../effort.ts";
import { HASHED } from "../support/event-rows.ts";

/** The tables of record, and the columns that are stored. */
export const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  head: ["one", "workspace_id", "format", "vocabulary", "seq", "hash"],
  events: ["seq", ...HASHED, "hash", "details", "details_salt"],
  agents: ["first_seq", "agent_id"],
  configs: ["agent", "version", "config", "salt", "created_seq", "rolled_back_from"],
  entries: [
    ...["agent", "key", "value", "metadata", "salt", "written_seq", "created_seq"],
    ...["live_from", "live_to", "created_at", "updated_at", "expires_at"],
  ],
  checkpoints: [...["id", "agent", "as_of_seq", "event_seq", "config_version", "entry_count", "label", "metadata"]],
};

/** Verifies the file as it is after a change that is rolled back again. */
export async function verifyChanged(
  connection: Connection,
  change: (connection: Connection) => void,
  maxKeys?: number,
): Promise<VerificationReport> {
  connection.exec("BEGIN");
  try {
    change(connection);
    return await verifyWorkspace(connection, { scope: "workspace" }, maxKeys === undefined ? {} : { maxKeys });
  } finally {
    connection.exec("ROLLBACK");
  }
}

/** A copy to change: without checks and unique indexes, as somebody with an editor has it. */
export function openForTampering(source: string, copy: string): Connection {
  copyDatabase(source, copy);
  const connection = openConnection(copy);
  connection.exec("PRAGMA ignore_check_constraints = ON");
  for (const index of ["entries_live", "events_by_agent"]) connection.exec(`DROP INDEX ${index}`);
  return connection;
}

/** Bytes of one value that are flipped; spread over it, and others in each row. */
const FLIPS_PER_VALUE = effort({ usual: 6, long: 200 });

/** Values that differ from one in a column by one byte, or by what a careless editor would do. */
export function variants(value: unknown, rowid: number): SqlValue[] {
  if (value === null) return [1, "x"];
  if (typeof value === "number") return [value + 1, value - 1, value + 10, value * 10, value - (value % 8), null];
  const bytes = Buffer.from(value as string);
  const longer = Buffer.concat([bytes, Buffer.alloc(2)]);
  const isBlob = value instanceof Uint8Array;
  const made: SqlValue[] = isBlob
    ? [Buffer.alloc(0), null, longer]
    : ["", null, `${value}x`, `${value} `, ` ${value}`, longer];
  const step = Math.max(1, Math.floor(bytes.length / FLIPS_PER_VALUE));
  for (let place = rowid % step; place < bytes.length; place += step) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] as number) ^ (place % 3 === 0 ? 0x80 : place % 3 === 1 ? 0x01 : 0x20);
    made.push(changed);
  }
  return made;
}

/** SQL for a parameter that {@link variants} made of a value: in the place of a text, bytes stand for one. */
export const asStored = (variant: SqlValue, value: unknown): string =>
  variant instanceof Uint8Array && !(value instanceof Uint8Array) ? "CAST(? AS TEXT)" : "?";
