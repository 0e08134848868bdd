/** Rewrites a log as somebody without the key could: afterwards every hash, link and head is consistent. */

import type { FileEvent } from "../../src/core/rows/log/stored-events.ts";
import { storeTiles } from "../../src/core/rows/log/tree.ts";
import type { JsonObject } from "../../src/json.ts";
import { canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { Connection } from "../../src/store/connection.ts";
import { setEvent, storedEvents } from "../support/event-rows.ts";

/** An actor that can have requested what clients request, and did not. */
const OTHER_ACTOR = { actor: "key_01h455vb4pex5vsknk084sn02z" };

/** Changes one event, by default its actor, and makes everything after it fit. */
export async function rewriteLog(connection: Connection, from: number, changed: object = OTHER_ACTOR) {
  const heads = new Map<string | null, string>();
  for (const { seq, canonical: text } of storedEvents(connection)) {
    const event = parseEvent(text);
    const change = seq === from ? changed : {};
    const previous_hash = heads.get(event.agent_id) ?? event.previous_hash;
    const rewritten = { ...event, ...change, previous_hash };
    heads.set(event.agent_id, eventHash(canonicalEvent(rewritten)));
    connection.run(...setEvent(seq, rewritten));
  }
  await refit(connection);
}

/**
 * Changes the details of the last event of the workspace's own chain, and makes its hash and its chain fit. No tile may
 * have the event.
 */
export function restateLast(connection: Connection, change: (details: JsonObject) => JsonObject): void {
  const [last] = storedEvents(connection, "WHERE agent_id IS NULL ORDER BY seq DESC LIMIT 1");
  const { seq, canonical, details: text, salt } = last as FileEvent;
  const details = canonicalJson(change(JSON.parse(text as string)));
  const details_commitment = saltedDigest(salt as string, details);
  connection.run(...setEvent(seq, { ...parseEvent(canonical), details_commitment }));
  connection.run("UPDATE events SET details = ? WHERE seq = ?", [details, seq]);
  moveHead(connection);
}

/**
 * Cuts off the log after `size` events, with everything that would show it: the head, entries, tiles, and the rows that the
 * events state, of which none before them may have been changed by them.
 */
export async function cutTail(connection: Connection, size: number): Promise<void> {
  connection.run("DELETE FROM events WHERE seq >= ?", [size]);
  connection.run("DELETE FROM entries WHERE written_seq >= ?", [size]);
  connection.run("UPDATE entries SET live_to = NULL WHERE live_to >= ?", [size]);
  connection.run("DELETE FROM agents WHERE first_seq >= ?", [size]);
  for (const table of ["sinks", "keys", "invitations"]) {
    connection.run(`DELETE FROM ${table} WHERE created_seq >= ?`, [size]);
  }
  connection.run("DELETE FROM members WHERE joined_seq >= ?", [size]);
  connection.run("UPDATE workspace SET second_factor_since = NULL");
  recount(connection);
  await refit(connection);
}

/** Makes the number of entries beside the newest event of each chain right. */
export function recount(connection: Connection): void {
  connection.run(`UPDATE events SET entries = (SELECT count(*) FROM entries e JOIN agents a ON a.first_seq = e.agent
      WHERE a.agent_id = events.agent_id AND e.live_to IS NULL)
    WHERE agent_id IS NOT NULL AND seq IN (SELECT max(seq) FROM events GROUP BY agent_id)`);
}

/** Makes the head that of the last event. */
export function moveHead(connection: Connection): void {
  connection.run("UPDATE head SET (seq, hash) = (SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1)");
}

async function refit(connection: Connection): Promise<void> {
  moveHead(connection);
  connection.run("DELETE FROM tiles");
  const size = connection.get<[number]>("SELECT count(*) FROM events")?.[0] ?? 0;
  await storeTiles(connection, 0, size);
}
