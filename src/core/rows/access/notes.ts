/**
 * Notes: what a file has without an event, since it is no evidence. When keys and sessions were last used; and, in the file
 * of the installation, where to find things and which browsers are known.
 */
import { CLOCK_LEEWAY_MS } from "../../../ids.ts";
import type { Transaction } from "../../../store/transaction.ts";

/** When a key or a session was used, ms since the Unix epoch. */
export interface LastUse {
  id: string;
  at: number;
}

export type Note =
  /** When keys or sessions were last used. */
  | { kind: "last_use"; used: keyof typeof USES; uses: readonly LastUse[] }
  /** An account is about to join workspaces. */
  | { kind: "joins"; accountId: string; workspaceIds: readonly string[] }
  /** The sinks of a workspace have changed. `some`: whether it has any now. */
  | { kind: "sinks"; workspaceId: string; some: boolean }
  /** An account has signed in with a browser. `digest`: SHA-256 of the browser's secret, hex. */
  | { kind: "device"; accountId: string; digest: string; at: number }
  | { kind: "forget_devices"; accountId: string };

const USES = {
  keys: { table: "key_use", column: "last_used_at" },
  sessions: { table: "session_use", column: "last_seen_at" },
} as const;

/** The most devices that one account remembers. The oldest is forgotten first. */
const MAX_DEVICES = 20;

/** Stores a note in the file of its workspace. */
export async function storeNote(tx: Transaction, note: Note): Promise<void> {
  switch (note.kind) {
    case "last_use":
      return storeLastUse(tx, note.used, note.uses);
    case "joins": {
      const sql = "INSERT INTO directory (account_id, workspace_id) VALUES (?, ?) ON CONFLICT DO NOTHING";
      for (const id of note.workspaceIds) await tx.run(sql, [note.accountId, id]);
      return;
    }
    case "sinks": {
      if (!note.some) return tx.run("DELETE FROM sink_workspaces WHERE workspace_id = ?", [note.workspaceId]);
      const changed = "ON CONFLICT (workspace_id) DO UPDATE SET changes = changes + 1";
      return tx.run(`INSERT INTO sink_workspaces (workspace_id, changes) VALUES (?, 1) ${changed}`, [note.workspaceId]);
    }
    case "device":
      return storeDevice(tx, note.accountId, note.digest, note.at);
    case "forget_devices":
      return tx.run("DELETE FROM devices WHERE account_id = ?", [note.accountId]);
  }
}

/** Stores when rows of a table were last used, unless a later time is stored that has come. Forgets rows that are gone. */
async function storeLastUse(tx: Transaction, used: keyof typeof USES, uses: readonly LastUse[]): Promise<void> {
  const { table, column } = USES[used];
  await tx.run(`DELETE FROM ${table} WHERE id NOT IN (SELECT id FROM ${used})`);
  for (const { id, at } of uses) {
    await tx.run(
      `INSERT INTO ${table} (id, ${column}) SELECT id, ?2 FROM ${used} WHERE id = ?1
       ON CONFLICT (id) DO UPDATE SET ${column} = ?2 WHERE ${column} < ?2 OR ${column} > ?2 + ?3`,
      [id, at, CLOCK_LEEWAY_MS],
    );
  }
}

async function storeDevice(tx: Transaction, accountId: string, digest: string, at: number): Promise<void> {
  await tx.run(
    `INSERT INTO devices (digest, account_id, last_used_at) VALUES (?, ?, ?)
     ON CONFLICT (digest) DO UPDATE SET account_id = excluded.account_id, last_used_at = excluded.last_used_at`,
    [digest, accountId, at],
  );
  await tx.run(
    `DELETE FROM devices WHERE account_id = ?1 AND digest NOT IN
     (SELECT digest FROM devices WHERE account_id = ?1 ORDER BY last_used_at DESC LIMIT ?2)`,
    [accountId, MAX_DEVICES],
  );
}
