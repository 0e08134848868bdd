/** The report of `governd verify` for a person. */

import { wordsOf } from "../../verify/codes.ts";
import type { Verdict } from "../../verify/problems.ts";
import type { SourceResult } from "../../verify/report.ts";
import type { ReportedProblem, ReportedRestore, SourceAgent } from "../../verify/report-schema.ts";
import { count } from "../terminal.ts";
import { reportedProofLines } from "./proof-text.ts";

/** The most problems of one file to print. `--json` has more. */
const MAX_SHOWN = 20;

const UNSEALED =
  "unsealed: links and hashes are valid, but anyone who could write this file could have replaced all of it";

function pruningLine({
  before_seq,
  export_digest,
  export: path,
}: NonNullable<SourceResult["report"]["prunings"]>[number]) {
  const found =
    path === null ? `not given: the export with SHA-256 ${export_digest}` : `${path}, as the pruning names it`;
  return `  what was pruned before event ${before_seq}: ${found}`;
}

/** Returns the report on one piece of evidence. */
export function sourceLines(result: SourceResult, agentId: string | undefined): string[] {
  const { report, range, erasedDetails } = result;
  const lines = [report.path];
  if (report.workspace_id !== null) {
    lines.push(
      `  ${report.workspace_id}: ${count(report.events, "event")}${rangeText(range)}, ${state(result.verdict)}`,
    );
  }
  if (report.proof !== undefined) lines.push(...reportedProofLines(report.proof));
  const agents = agentId === undefined ? report.agents : report.agents.filter((agent) => agent.agent_id === agentId);
  for (const agent of agents) lines.push(...agentLines(agent));
  if (erasedDetails > 0) lines.push(`  details of ${count(erasedDetails, "event")} are erased; the events remain`);
  if (report.pruned_before !== undefined) {
    const text = `bodies from event ${report.pruned_before} on; of those before, the leaves of the tree are left`;
    lines.push(`  pruned: ${text}`);
  }
  for (const pruning of report.prunings ?? []) lines.push(pruningLine(pruning));
  if (report.state_roots !== undefined) {
    const { recomputed, not_recomputed: left } = report.state_roots;
    lines.push(`  state roots: ${recomputed} computed again${left === 0 ? "" : `, ${left} not recomputed`}`);
  }
  for (const restore of report.restores ?? []) lines.push(restoreLine(restore));
  for (const { origin, size, seq } of report.explained_seals ?? []) {
    lines.push(
      `  explained: a given seal of ${origin} over ${size} events; the restore at event ${seq} names it, and its events from ${seq} on are lost`,
    );
  }
  lines.push(...(report.not_covered ?? []).map((what) => `  not covered: ${what}`));
  if (range !== null) lines.push(...sealLines(report, range));
  if (range !== null || (report.kind === "export" && report.workspace_id !== null))
    lines.push(completenessLine(result));
  for (const { name, through, time } of report.witnesses ?? []) {
    lines.push(`  witnessed through event ${through} by ${name} at ${time}`);
  }
  for (const { name, through, time } of report.timestamps ?? []) {
    lines.push(`  time stamped through event ${through} by ${name} at ${time}`);
  }
  lines.push(...problemLines(result));
  return lines;
}

/** A restore explains why a log does not continue seals kept elsewhere, so it is always reported. */
function restoreLine({ epoch, seq, restored_at, backup_created_at, ...rest }: ReportedRestore): string {
  const from = backup_created_at === null ? "a backup" : `a backup of ${backup_created_at}`;
  const name = `epoch ${epoch} from event ${seq} on${rest.origin === null ? "" : `, sealed as ${rest.origin}`}`;
  const lost =
    rest.lost_through === null
      ? ""
      : `; ${seq === rest.lost_through ? `event ${seq} is` : `events ${seq} to ${rest.lost_through} are`} known to be lost`;
  return `  ${name}: restored ${restored_at} from ${from}; events recorded between backup and restore are not in this log${lost}`;
}

/** Reports which events are sealed, which are not, and which are covered by a seal that the auditor provided. */
function sealLines(
  { sealed_through: sealed, anchored_through: anchored }: SourceResult["report"],
  range: { first: number; last: number },
): string[] {
  const through = (seq: number | null) => {
    if (seq === null) return "none";
    // A seal may cover only events that were pruned.
    return seq < range.first ? `none of these (through event ${seq})` : span(range.first, seq);
  };
  const from = sealed === null ? range.first : Math.max(range.first, sealed + 1);
  const rest = from > range.last ? "none" : span(from, range.last);
  const line = `  sealed: ${through(sealed)}; unsealed: ${rest}; anchored: ${through(anchored)}`;
  return sealed === null ? [line, `  ${UNSEALED}`] : [line];
}

function completenessLine({ completeness }: SourceResult): string {
  switch (completeness.is) {
    case "complete":
      return `  complete through event ${completeness.through}, sealed`;
    case "partial":
      return `  partial: ${completeness.part}`;
    case "unknown":
      return `  completeness cannot be established: ${completeness.why}`;
  }
}

const span = (first: number, last: number): string => (first === last ? `${first}` : `${first} to ${last}`);

/** The first line, where no key was given: what is verified is then only compared with itself. */
export const SIGNER_UNKNOWN = "Consistent, but by whom is not established: no key was given (--public-key).";

/** Returns the last line. */
export function verdictLine(verdict: Verdict, results: readonly SourceResult[]): string {
  switch (verdict) {
    case "verified":
      return results.every(({ report }) => report.sealed_through !== null)
        ? "Verified: every hash, link, seal and stored row agrees with the log."
        : "Verified, but unsealed: every hash, link and stored row agrees with the log.";
    case "tampered": {
      const bad = results.filter((result) => result.verdict === "tampered").length;
      return `TAMPERED: ${bad} of ${count(results.length, "piece")} of evidence ${bad === 1 ? "was" : "were"} changed.`;
    }
    case "undetermined":
      return "Undetermined: it cannot be verified, but there is no sign of tampering.";
  }
}

function state(verdict: Verdict): string {
  return { verified: "intact", tampered: "TAMPERED", undetermined: "not established" }[verdict];
}

function agentLines({ agent_id, events, valid, first_invalid }: SourceAgent): string[] {
  const name = agent_id ?? "(the workspace itself)";
  const line = `  ${name}: ${count(events, "event")}, ${valid ? "intact" : "TAMPERED"}`;
  if (first_invalid === null) return [line];
  return [line, `    first bad event: ${eventName(first_invalid)}: ${first_invalid.reason}`];
}

function problemLines({ report, problemCount }: SourceResult): string[] {
  const lines: string[] = [];
  for (const problem of report.problems.slice(0, MAX_SHOWN)) {
    const { means, advice } = wordsOf(problem.code);
    lines.push(`  ${problem.code}${placeText(problem)}: ${problem.message}`, `    means: ${means}`);
    if (problem.table !== null) lines.push(`    in table ${problem.table}${rowsText(problem)}`);
    if (problem.consequences > 0) lines.push(`    and therefore: ${consequenceText(problem)}`);
    lines.push(`    what to do: ${advice}`);
  }
  const more = problemCount - Math.min(report.problems.length, MAX_SHOWN);
  if (more > 0) lines.push(`  and ${count(more, "problem")} more (--json names up to 1,000)`);
  return lines;
}

/** The event of a problem, such as ` at event 3 (aud_…), data.write of support-bot (its event 2), 2026-…`. */
function placeText(problem: ReportedProblem): string {
  const { seq, agent_id, agent_seq, operation, timestamp } = problem;
  if (seq === null) return agent_id === null ? "" : ` of ${agent_id}`;
  const place = ` at ${eventName(problem)}`;
  if (operation === null) return agent_id === null ? place : `${place} of ${agent_id}`;
  return `${place}, ${operation} of ${agent_id ?? "the workspace itself"} (its event ${agent_seq}), ${timestamp}`;
}

function rowsText({ keys, count: rows }: ReportedProblem): string {
  const named = keys.map((key) => JSON.stringify(key)).join(", ");
  if (rows === 1) return named === "" ? "" : `: ${named}`;
  return `: ${count(rows, "row")}${named === "" ? "" : `, among them ${named}`}`;
}

function consequenceText({ consequence_codes: codes }: ReportedProblem): string {
  return Object.entries(codes)
    .map(([code, times]) => `${times} ${code}`)
    .join(", ");
}

const eventName = ({ seq, id }: { seq: number | null; id: string | null }): string =>
  id === null ? `event ${seq}` : `event ${seq} (${id})`;

const rangeText = (range: SourceResult["range"]): string =>
  range === null ? "" : ` (${range.first} to ${range.last})`;
