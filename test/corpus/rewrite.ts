/** Rewrites a log as somebody without the key could: afterwards every hash, link and head is consistent. */

import { storeTiles } from "../../src/core/rows/tree.ts";
import type { JsonObject } from "../../src/json.ts";
import { canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { Connection } from "../../src/store/connection.ts";

/** An actor that can have requested what clients request, and did not. */
const OTHER_ACTOR = { actor: "key_01h455vb4pex5vsknk084sn02z" };

/** Changes one event, by default its actor, and makes everything after it fit. */
export async function rewriteLog(connection: Connection, from: number, changed: object = OTHER_ACTOR) {
  const rows = connection.all<[number, string]>("SELECT seq, body FROM events ORDER BY seq");
  const heads = new Map<string | null, string>();
  for (const [seq, body] of rows) {
    const event = parseEvent(body);
    const change = seq === from ? changed : {};
    const canonical = canonicalEvent({
      ...event,
      ...change,
      previous_hash: heads.get(event.agent_id) ?? event.previous_hash,
    });
    const hash = eventHash(canonical);
    heads.set(event.agent_id, hash);
    connection.run("UPDATE events SET body = ?, hash = ? WHERE seq = ?", [canonical, hash, seq]);
  }
  await refit(connection);
}

/**
 * Changes the details of the last event of the workspace's own chain, and makes its hash and its chain fit. No tile may
 * have the event.
 */
export function restateLast(connection: Connection, change: (details: JsonObject) => JsonObject): void {
  const last = "SELECT seq, body, details, details_salt FROM events WHERE agent_id IS NULL ORDER BY seq DESC LIMIT 1";
  const [seq, body, text, salt] = connection.get<[number, string, string, string]>(last) ?? [0, "", "", ""];
  const details = canonicalJson(change(JSON.parse(text)));
  const canonical = canonicalEvent({ ...parseEvent(body), details_commitment: saltedDigest(salt, details) });
  const hash = eventHash(canonical);
  connection.run("UPDATE events SET body = ?, hash = ?, details = ? WHERE seq = ?", [canonical, hash, details, seq]);
  connection.run("UPDATE agents SET head_hash = ? WHERE agent_id IS NULL", [hash]);
  connection.run("UPDATE head SET hash = ? WHERE seq = ?", [hash, seq]);
}

/**
 * Cuts off the log after `size` events, with everything that would show it: heads, entries, tiles, and the rows that the
 * events state, of which none before them may have been changed by them.
 */
export async function cutTail(connection: Connection, size: number): Promise<void> {
  connection.run("DELETE FROM events WHERE seq >= ?", [size]);
  connection.run("DELETE FROM entries WHERE written_seq >= ?", [size]);
  connection.run("DELETE FROM agents WHERE first_seq >= ?", [size]);
  for (const table of ["sinks", "keys", "invitations"]) {
    connection.run(`DELETE FROM ${table} WHERE created_seq >= ?`, [size]);
  }
  connection.run("DELETE FROM members WHERE joined_seq >= ?", [size]);
  connection.run("UPDATE workspace SET second_factor_since = NULL");
  connection.run(
    "UPDATE agents SET live_entries = (SELECT count(*) FROM entries WHERE agent = agents.first_seq AND live_to IS NULL)",
  );
  await refit(connection);
}

async function refit(connection: Connection): Promise<void> {
  connection.run(
    `UPDATE agents SET head_seq = (SELECT max(agent_seq) FROM events v WHERE v.agent_id IS agents.agent_id),
       head_hash = (SELECT hash FROM events v WHERE v.agent_id IS agents.agent_id ORDER BY agent_seq DESC LIMIT 1)`,
  );
  connection.run(
    "UPDATE head SET seq = (SELECT max(seq) FROM events), hash = (SELECT hash FROM events ORDER BY seq DESC LIMIT 1)",
  );
  connection.run("DELETE FROM tiles");
  const size = connection.get<[number]>("SELECT count(*) FROM events")?.[0] ?? 0;
  await storeTiles(connection, 0, size);
}
