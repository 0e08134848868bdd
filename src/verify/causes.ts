/**
 * Groups the problems that checks found by their causes. One change of the evidence makes many checks fail: an edited
 * event breaks its hash, the link of the next event, a tile, every later seal and the rows that it wrote.
 *
 * A problem is a **consequence** of another one that explains it, and a **cause** when no other explains it. What
 * explains a problem depends on its subject ({@link RULES}), in the order of the ranks:
 *
 * - An event or a link: a cause at one of the same positions. A link concerns the positions from the event before it in
 *   its chain up to its own, a gap those that are missing.
 * - The log as a whole (its end, its tree, seals over it): a changed, missing or repeated event before it, or another
 *   problem of the log as a whole.
 * - Details that no erasure names: a cause at the same event, an event after it (that may be the erasure), or the log as
 *   a whole.
 * - A row: a cause at the position of an event that it names, or beyond the end of a log whose end is wrong, or the row
 *   of its agent. A row that events state: also any changed, missing or repeated event, which may have stated it, or
 *   the log as a whole.
 * - A seal by itself: a changed event before it, or the row of the key that signed it.
 * - An object of the schema: a cause in its table.
 * - All rows of a table: any of these that concerns the same agent or the same table. The workspace's policies concern
 *   every agent.
 *
 * Wrong rows of one table that nothing explains are one cause, with their number and some of their keys.
 */
import { ROW_TABLES } from "../log/row-effects.ts";
import { mayNameSealKey } from "../log/seal.ts";
import { PROBLEMS, type ProblemCode } from "./codes.ts";
import type { Problem } from "./problems.ts";

/** A cause. */
export interface Cause {
  problem: Problem;
  /** The wrong rows of its table, or the agents whose rows are wrong as a whole; one for other problems. */
  rows: Set<string>;
  /** The first keys of these rows. */
  keys: string[];
  /** The number of consequences by code. */
  consequences: Map<ProblemCode, number>;
  /** The positions, inclusive, of events whose problems are consequences. Problems of rows that name them are, too. */
  places: [first: number, last: number][];
}

/** The most keys of wrong rows that are named. */
const MAX_KEYS = 5;

/** The subjects of problems, in the order in which causes are sought. */
const RANKS = ["event", "link", "log", "blank", "tiles", "row", "seal", "schema", "whole"] as const;
type Rank = (typeof RANKS)[number];

/** Problems of the log as a whole. The first of these that was found is the cause of the others. */
const LOG_ORDER: readonly ProblemCode[] = [
  "head_mismatch",
  "rolled_back",
  "anchor_mismatch",
  "seal_beyond_log",
  "root_mismatch",
  "export_window",
  "export_count",
  "proof_invalid",
];

/** Problems of one event that are preferred as its cause, the most preferred last. */
const EVENT_ORDER: readonly ProblemCode[] = ["hash_mismatch", "event_malformed"];

/**
 * Tables that are compared as a whole, in an order in which each comes after the tables on which its comparison
 * depends.
 */
const TABLE_ORDER = ["configs", "checkpoints", "entries", "agents"];

/** Returns the order of a problem within its rank. */
function kindOf({ code, row }: Problem): number {
  if (row === undefined || !row.whole) return LOG_ORDER.indexOf(code);
  // A checkpoint's count depends on entries.
  return TABLE_ORDER.indexOf(row.table) + (row.table === "checkpoints" && row.key !== null ? 1.5 : 0);
}

function rankOf({ code, row }: Problem): Rank {
  if (row?.table === "tiles") return "tiles";
  if (row?.whole) return "whole";
  if (code === "details_missing") return "blank";
  const { concern } = PROBLEMS[code];
  return concern === "row" && row === undefined ? "event" : concern;
}

/** Problems of an event that do not change its leaf of the tree, and so nothing after it. */
const BESIDE_THE_EVENT: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "details_mismatch",
  "details_malformed",
  "details_invalid",
  "operation_unknown",
  "vocabulary_invalid",
  "operation_impossible",
  "actor_impossible",
  "result_impossible",
  "chain_impossible",
  "details_missing",
  "details_restored",
  "restore_invalid",
]);

const ends = ({ seq, since }: Problem): number[] => [seq, since].filter((end) => end !== null && end !== undefined);
const from = (problem: Problem): number => Math.min(...ends(problem));
const to = (problem: Problem): number => Math.max(...ends(problem));
const isOfEvent = (cause: Problem): boolean => ["event", "link", "blank"].includes(rankOf(cause));
/** Whether a cause has changed leaves of the tree up to a position. */
const changesLeaves = (cause: Problem, upTo: number | null): boolean =>
  isOfEvent(cause) && !BESIDE_THE_EVENT.has(cause.code) && (upTo === null || cause.seq === null || from(cause) <= upTo);
const ofOneAgent = (a: Problem, b: Problem): boolean =>
  a.agentId === undefined || b.agentId === undefined || a.agentId === b.agentId;

/** Whether a problem in the workspace's own chain, such as that of a state root, is about the entries of all agents. */
const isAboutAll = ({ agentId, row }: Problem): boolean => agentId === null && row?.table === "entries";

/** Whether a cause concerns the agent of a problem. The workspace's own configs are policies of all agents. */
const isAboutAgentOf = (problem: Problem, cause: Problem): boolean =>
  ofOneAgent(problem, cause) || isAboutAll(problem) || (cause.row?.table === "configs" && cause.agentId === null);

/** Tables whose comparison as a whole depends on another table, whose rows may have been given to another agent. */
const DEPENDS: Readonly<Record<string, string>> = { agents: "entries", entries: "checkpoints" };

/** Whether a cause explains a problem. */
type Rule = (problem: Problem, cause: Problem, known: Pick<Cause, "consequences" | "places">) => boolean;

const samePlace: Rule = (problem, cause) =>
  isOfEvent(cause) && from(problem) <= to(cause) && from(cause) <= to(problem);

/** Whether the number of a row is wrong because an event was inserted or removed before it. */
const isShift: Rule = (problem, cause, { consequences }) =>
  problem.code === "row_mismatch" &&
  [cause.code, ...consequences.keys()].some((code) => code.startsWith("seq_")) &&
  from(cause) <= to(problem);

/** Whether a changed or foreign event may have been the erasure that names an event without details. */
const mayHideErasure = (problem: Problem, cause: Problem): boolean =>
  to(cause) > to(problem) || cause.code === "wrong_agent" || cause.code === "wrong_workspace";

/** Whether numbers are wrong because an event of another log replaced one of this log. */
const isReplaced: Rule = (problem, cause) => problem.code.startsWith("seq_") && cause.code === "wrong_workspace";

/**
 * Whether a restore contradicts the key in force because an earlier event, or its details, was changed that may have
 * named the key.
 */
const mayNameKey: Rule = (problem, cause) =>
  problem.code === "restore_invalid" &&
  (changesLeaves(cause, problem.seq) || mayNameSealKey(cause.event?.operation ?? "")) &&
  from(cause) < to(problem);

/** Whether an operation lacks what an event before it would have left, that was changed or is missing. */
const mayHaveLeft: Rule = (problem, cause) =>
  problem.code === "operation_impossible" && isOfEvent(cause) && from(cause) < to(problem);

/** Whether events state the row, so that one that is gone or was changed may have stated it. */
const isStatedRow = ({ row }: Problem): boolean => row !== undefined && row.table in ROW_TABLES;

const RULES: Readonly<Record<Rank, Rule>> = {
  event: (problem, cause, known) =>
    [samePlace, isShift, isReplaced, mayNameKey, mayHaveLeft].some((rule) => rule(problem, cause, known)),
  link: samePlace,
  // The end of the log also differs when the last event was changed.
  log: (problem, cause) =>
    changesLeaves(cause, problem.code === "head_mismatch" ? null : problem.seq) || rankOf(cause) === "log",
  blank: (problem, cause, known) =>
    samePlace(problem, cause, known) ||
    rankOf(cause) === "log" ||
    (rankOf(cause) !== "blank" && mayHideErasure(problem, cause)),
  tiles: (_, cause) => changesLeaves(cause, null) || rankOf(cause) === "log",
  row(problem, cause, { places }) {
    const names = problem.row?.names ?? [];
    if (names.some((seq) => places.some(([first, last]) => first <= seq && seq <= last))) return true;
    if (isStatedRow(problem) && (changesLeaves(cause, null) || rankOf(cause) === "log")) return true;
    if (cause.row?.table === "agents" && problem.row?.table !== "agents") return ofOneAgent(problem, cause);
    if (isOfEvent(cause)) return names.some((seq) => from(cause) <= seq && seq <= to(cause));
    return (
      (cause.code === "head_mismatch" && names.some((seq) => seq > to(cause))) ||
      (cause.code === "seal_beyond_log" && names.some((seq) => seq >= from(cause)))
    );
  },
  seal: (problem, cause) =>
    changesLeaves(cause, problem.seq) ||
    cause.code === problem.code ||
    cause.row?.table === "seal_keys" ||
    // Origins are stated in the details of restores.
    (problem.code === "seal_origin" && isOfEvent(cause) && from(cause) <= to(problem)),
  schema: (problem, cause) =>
    problem.row?.table === (isOfEvent(cause) ? "events" : cause.row?.table) && problem.row !== undefined,
  whole(problem, cause) {
    if (isOfEvent(cause)) return changesLeaves(cause, null) || ofOneAgent(problem, cause) || isAboutAll(problem);
    const [table, other] = [problem.row?.table, cause.row?.table];
    if (table === other || other === "agents" || DEPENDS[table ?? ""] === other) return true;
    if (rankOf(cause) === "row") return isAboutAgentOf(problem, cause);
    return ["log", "schema"].includes(rankOf(cause)) || (rankOf(cause) === "whole" && isAboutAgentOf(problem, cause));
  },
};

/** Whether a problem is another row of a cause. */
const isMore = (problem: Problem, cause: Problem): boolean =>
  problem.row !== undefined &&
  problem.row.table === cause.row?.table &&
  rankOf(problem) === rankOf(cause) &&
  rankOf(problem) !== "schema";

/** Returns a problem as its own cause. */
function alone(problem: Problem): Cause {
  const key = problem.row?.key ?? null;
  return {
    problem,
    rows: new Set([nameOf(problem)]),
    keys: key === null ? [] : [key],
    consequences: new Map(),
    places: [],
  };
}

/** Returns a name that distinguishes the rows of a table. */
const nameOf = ({ agentId, row }: Problem): string =>
  JSON.stringify([agentId, ...(row?.whole ? [] : [row?.key, row?.names?.[0]])]);

/** Returns the causes of all these problems, the most fundamental ones and the lowest positions first. */
export function causesOf(problems: readonly Problem[]): Cause[] {
  const causes: Cause[] = [];
  for (const problem of problems.toSorted(inOrder)) {
    const explains = RULES[rankOf(problem)];
    const more = causes.find((cause) => isMore(problem, cause.problem));
    const cause = causes.find((one) => one !== more && explains(problem, one.problem, one));
    if (cause !== undefined) explain(cause, problem);
    else if (more?.rows.has(nameOf(problem))) explain(more, problem);
    else if (more !== undefined) takeRow(more, problem);
    else causes.push(alone(problem));
  }
  return causes;
}

function explain({ consequences, places }: Cause, problem: Problem): void {
  const { code, seq } = problem;
  consequences.set(code, (consequences.get(code) ?? 0) + 1);
  if (seq === null) return;
  if (code === "seq_gap") places.push([from(problem), seq - 1]);
  else if (code === "seal_beyond_log") places.push([seq, Number.POSITIVE_INFINITY]);
  else if (rankOf(problem) === "event") places.push([seq, seq]);
}

function takeRow({ rows, keys }: Cause, problem: Problem): void {
  const key = problem.row?.key ?? null;
  rows.add(nameOf(problem));
  if (key !== null && keys.length < MAX_KEYS && !keys.includes(key)) keys.push(key);
}

function inOrder(a: Problem, b: Problem): number {
  const rank = RANKS.indexOf(rankOf(a)) - RANKS.indexOf(rankOf(b));
  if (rank !== 0) return rank;
  const kind = kindOf(a) - kindOf(b);
  if (kind !== 0) return kind;
  const [first, second] = [a.seq ?? Number.POSITIVE_INFINITY, b.seq ?? Number.POSITIVE_INFINITY];
  return first === second ? EVENT_ORDER.indexOf(b.code) - EVENT_ORDER.indexOf(a.code) : first < second ? -1 : 1;
}
