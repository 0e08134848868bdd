/** Plans of restores that take several pages. */
import { expect, test } from "bun:test";
import { freshState } from "../../src/core/rows/agents.ts";
import { planRestore } from "../../src/core/rows/restore.ts";
import { NO_WORKSPACE_POLICIES } from "../../src/screen/workspace-policies.ts";
import { openConnection } from "../../src/store/connection.ts";
import { Seeded } from "../seeded.ts";

const AGENT = 7;
const AS_OF = 1_000;
/** More than the pages of past and of present versions hold. */
const KEYS = 6_000;

test("a plan of several pages names every version that one query finds, once", async () => {
  const random = new Seeded(5);
  using connection = openConnection(":memory:");
  connection.exec(
    `CREATE TABLE entries (id INTEGER PRIMARY KEY, agent INTEGER, key TEXT, written_seq INTEGER, live_from INTEGER,
       live_to INTEGER, updated_at INTEGER, expires_at INTEGER, quarantined INTEGER) STRICT;
     CREATE UNIQUE INDEX entries_live ON entries (agent, key) WHERE live_to IS NULL;
     CREATE INDEX entries_ended ON entries (agent, live_to) WHERE live_to IS NOT NULL;`,
  );
  const insert =
    "INSERT INTO entries (agent, key, written_seq, live_from, live_to, updated_at) VALUES (?, ?, ?, ?, ?, ?)";
  connection.exec("BEGIN");
  for (let i = 0; i < KEYS; i++) {
    const [key, before] = [`key${i}`, random.between(1, AS_OF)];
    // Many end together, as by a deletion of a prefix.
    const end = random.pick([null, AS_OF + 1, AS_OF + 1, random.between(1, 3 * AS_OF)]);
    connection.run(insert, [AGENT, key, before, before, end === null ? null : Math.max(before + 1, end), before]);
    if (end === null || random.chance(0.5)) continue;
    const later = 4 * AS_OF + i;
    connection.run(insert, [AGENT, key, later, later, null, later]);
  }
  connection.exec("COMMIT");
  const cutoffMs = 100;
  const past = connection.all<[number]>(
    `SELECT id FROM entries WHERE agent = ? AND live_to > ? AND live_from <= ? AND updated_at >= ?`,
    [AGENT, AS_OF, AS_OF, cutoffMs],
  );
  const ending = connection.all<[number]>(
    "SELECT id FROM entries WHERE agent = ? AND live_to IS NULL AND live_from > ?",
    [AGENT, AS_OF],
  );
  let pauses = 0;
  const pause = async () => void pauses++;
  const plan = await planRestore(
    connection,
    { ...freshState("a", AGENT, NO_WORKSPACE_POLICIES), liveEntries: KEYS },
    AS_OF,
    { cutoffMs, nowMs: 0, seesSetAside: false },
    { pause },
  );
  const sorted = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);
  expect(sorted(plan.comeBack)).toEqual(sorted(past.map(([id]) => id)));
  expect(sorted(plan.end)).toEqual(sorted(ending.map(([id]) => id)));
  expect(plan.comeBack.length).toBeGreaterThan(1_000);
  expect(pauses).toBeGreaterThan(8);
});
