/** The config versions of one agent against the events that made them. */
import { sha256Hex } from "../../log/hash.ts";
import type { PolicySettings } from "../../policy/policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { goOn } from "../../store/walk.ts";
import { decodeText, integer, isOfWrongType, textBytes } from "../columns.ts";
import { type EventColumns, eventColumns, kindOf, type NamedEvent, readNamedEvent } from "./events-named.ts";
import { retentionOf } from "./expected/histories.ts";
import type { Retention } from "./expected/history.ts";
import type { AgentName, Report } from "./findings.ts";

/** A config has at most 256 KiB. */
const ROWS_AT_ONCE = 32;

type Row = [
  version: number | null,
  wrongType: number,
  config: Buffer | null,
  createdSeq: number | null,
  rolledBackFrom: number | null,
  ...event: EventColumns,
];

const SELECT = `SELECT ${integer("c.version")}, ${isOfWrongType("c.rolled_back_from", "integer")},
    ${textBytes("c.config")}, ${integer("c.created_seq")}, ${integer("c.rolled_back_from")}, ${eventColumns("v")}
  FROM configs c LEFT JOIN events v ON v.seq = c.created_seq
  WHERE c.agent = ? AND c.version > ? ORDER BY c.version LIMIT ${ROWS_AT_ONCE}`;

/** What the other checks need to know of an agent's configs. */
export interface ConfigFacts {
  rows: number;
  /** By version (`v1` …), of those that have a retention. */
  retention: Retention;
}

/** Checks every version: its content, its event, and that numbers have no gaps. */
export async function checkConfigs(reader: Reader, agent: AgentName, report: Report): Promise<ConfigFacts> {
  const retention = new Map<string, PolicySettings>();
  let rows = 0;
  for (let last = Number.MIN_SAFE_INTEGER; ; ) {
    const page = await reader.all<Row>(SELECT, [agent.firstSeq, last]);
    for (const row of page) {
      rows += 1;
      const [version, wrongType, bytes, createdSeq, rolledBackFrom, ...columns] = row;
      const config = decodeText(bytes);
      const place = { table: "configs", key: version === null ? null : `v${version}`, names: [createdSeq ?? -1] };
      if (version === null || wrongType !== 0 || config === null || createdSeq === null) {
        report("row_mismatch", createdSeq, "a stored config has a column that is not of its type", place);
        continue;
      }
      if (version !== rows) {
        report("content_missing", createdSeq, `stored configs have a gap: v${version} where v${rows} should be`, place);
      }
      const message = configProblem({ version, config, rolledBackFrom }, readNamedEvent(...columns), agent.agentId);
      if (message !== null) report("content_mismatch", createdSeq, `stored config v${version} ${message}`, place);
      const policies = retentionOf(config);
      if (policies !== null) retention.set(`v${version}`, policies);
    }
    const end = page.at(-1)?.[0];
    if (page.length < ROWS_AT_ONCE || end === null || end === undefined) return { rows, retention };
    last = goOn(last, end);
  }
}

/** What is wrong with a version, or null. */
function configProblem(
  { version, config, rolledBackFrom }: { version: number; config: string; rolledBackFrom: number | null },
  named: NamedEvent | null,
  agentId: string | null,
): string | null {
  if (named === null || named.event.agent_id !== agentId || !couldAddConfig(named)) {
    return "names an event that did not make it";
  }
  const { event, details, effect } = named;
  // The event was decided under the version before.
  if ((event.config_version ?? "v0") !== `v${version - 1}`) return "is not the next one after the one in force";
  if (details === null) return "cannot be proved: the details of its event are erased";
  const made = effect.kind === "restore" ? effect.config : effect.kind === "add_config" ? effect : null;
  if (made === null || made.version !== `v${version}` || made.digest !== sha256Hex(config)) {
    return "is not what its event says was made";
  }
  const from = rolledBackFrom === null ? null : `v${rolledBackFrom}`;
  return made.rolledBackFrom === from ? null : "is said to be the content of another version than its event says";
}

function couldAddConfig(named: NamedEvent): boolean {
  const kind = kindOf(named);
  return kind === "add_config" || kind === "restore";
}
