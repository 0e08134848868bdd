/** Compares the config versions of one agent with the events that made them. */
import { isSalt, saltedDigest } from "../../log/hash.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { pages } from "../../store/walk.ts";
import { integer, RowForm, type RowOf } from "../columns.ts";
import type { AgentName, Report } from "../problems.ts";
import { eventColumn, kindOf, type NamedEvent, readNamedEvent } from "./events-named.ts";

/** The rows that are read at once. A config has at most 256 KiB. */
const ROWS_AT_ONCE = 32;

const CONFIG = new RowForm("c", {
  version: "integer",
  config: "text",
  salt: "text",
  created_seq: "integer",
  rolled_back_from: "integer?",
});

type Row = [version: number | null, event: Buffer, ...columns: SqlValue[]];

const SELECT = `SELECT ${integer("c.version")}, ${eventColumn("v")}, ${CONFIG.sql}
  FROM configs c LEFT JOIN events v ON v.seq = c.created_seq
  WHERE c.agent = ? AND c.version > ? ORDER BY c.version LIMIT ${ROWS_AT_ONCE}`;

/** Checks the content and the event of every version, and that numbers have no gaps. Returns the number of rows. */
export async function checkConfigs(reader: Reader, agent: AgentName, report: Report): Promise<number> {
  let rows = 0;
  const read = (after: number) => reader.all<Row>(SELECT, [agent.firstSeq, after]);
  for await (const page of pages(Number.MIN_SAFE_INTEGER, ROWS_AT_ONCE, read, ([version]) => version)) {
    for (const [version, event, ...columns] of page) {
      rows += 1;
      const { row, parts } = CONFIG.read(columns);
      const { created_seq: seq = null } = parts;
      const place = { table: "configs", key: version === null ? null : `v${version}`, names: [seq ?? -1] };
      if (row === null) {
        report("row_mismatch", seq, "a stored config has a column that is not of its type", place);
        continue;
      }
      if (version !== rows) {
        report("content_missing", seq, `stored configs have a gap: v${version} where v${rows} should be`, place);
      }
      const message = configProblem(row, readNamedEvent(event), agent.agentId);
      if (message !== null) report("content_mismatch", seq, `stored config v${version} ${message}`, place);
    }
  }
  return rows;
}

/** Returns what is wrong with a version; null for nothing. */
function configProblem(
  { version, config, salt, rolled_back_from: rolledBackFrom }: RowOf<typeof CONFIG>,
  named: NamedEvent | null,
  agentId: string | null,
): string | null {
  const kind = named && kindOf(named);
  if (named?.event.agent_id !== agentId || (kind !== "add_config" && kind !== "restore")) {
    return "names an event that did not make it";
  }
  const { event, details, effect } = named;
  // The event was decided under the previous version.
  if ((event.config_version ?? "v0") !== `v${version - 1}`) return "is not the next one after the one in force";
  if (details === null) return "cannot be proved: the details of its event are erased";
  const made = effect.kind === "restore" ? effect.config : effect.kind === "add_config" ? effect : null;
  // Configs in the workspace's own chain are versions of its policies.
  const name = `${agentId === null ? "p" : "v"}${version}`;
  if (made === null || made.version !== name || !isSalt(salt) || made.digest !== saltedDigest(salt, config)) {
    return "is not what its event says was made";
  }
  const from = rolledBackFrom === null ? null : `v${rolledBackFrom}`;
  return made.rolledBackFrom === from ? null : "is said to be the content of another version than its event says";
}
