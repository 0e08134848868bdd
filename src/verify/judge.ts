/** Judges pieces of evidence together, by what the auditor gives and asks for. */
import { sealedWorkspace } from "../log/seal.ts";
import type { ObstacleCode } from "./codes.ts";
import type { Verdict } from "./problems.ts";
import { overallVerdict, reportedObstacle, type SourceResult } from "./report.ts";
import type { Trust } from "./trust.ts";

/** What the auditor gives, and asks for. */
interface Wanted {
  trust: Trust;
  /** How many witnesses must have cosigned a seal; 0 for none. */
  quorum: number;
  /** Whether evidence must be complete, or say which part it is. */
  complete: boolean;
  /** Returns the SHA-256 of a file, hex. */
  digestOf(path: string): string;
}

export interface Judgement {
  verdict: Verdict;
  /** Whether the given keys establish by whom the evidence was sealed. */
  isSignerKnown: boolean;
}

/** Returns the verdict over all evidence. Adds to the results what together they say. */
export function judge(results: SourceResult[], { trust, quorum, complete, digestOf }: Wanted): Judgement {
  forgiveOtherPlaces(results);
  askForSeals(results, trust);
  askForWitnesses(results, quorum);
  if (complete) askForCompleteness(results);
  findPrunedExports(results, digestOf);
  const verdict = overallVerdict(results);
  return { verdict, isSignerKnown: verdict === "verified" && (trust.publicKeys ?? []).length > 0 };
}

/** An agent belongs to one workspace, so "unknown agent" is only reported when no workspace knows it. */
function forgiveOtherPlaces(results: SourceResult[]): void {
  const isElsewhere = ({ report, verdict }: SourceResult): boolean =>
    verdict === "undetermined" && report.problems.every(({ code }) => code === "agent_unknown");
  if (results.every(isElsewhere)) return;
  for (const result of results.filter(isElsewhere)) {
    result.report.problems = [];
    result.problemCount = 0;
    result.verdict = "verified";
  }
}

/** Reports a given seal that belongs to none of the verified workspaces. */
function askForSeals(results: SourceResult[], { anchors = [] }: Trust): void {
  const ids = new Set(results.map(({ report }) => report.workspace_id));
  if (anchors.length === 0 || anchors.some((seal) => ids.has(sealedWorkspace(seal)))) return;
  const message = "the given seal belongs to another workspace, so it cannot be compared";
  for (const result of results) {
    if (!result.report.problems.some(({ code }) => code === "seal_missing")) doubt(result, "seal_missing", message);
  }
}

/** Compares the given exports with the exports that a workspace's prunes name by their digests. */
function findPrunedExports(results: SourceResult[], digestOf: (path: string) => string): void {
  const named = results.flatMap(({ report }) => report.prunings ?? []);
  if (named.length === 0) return;
  for (const { report } of results) {
    if (report.kind !== "export") continue;
    const digest = digestOf(report.path);
    for (const pruning of named) if (pruning.export_digest === digest) pruning.export = report.path;
  }
}

/** Reports evidence that fewer witnesses than required have cosigned. */
function askForWitnesses(results: SourceResult[], quorum: number): void {
  for (const result of results) {
    const { witnesses = [] } = result.report;
    if (quorum === 0 || witnesses.length >= quorum) continue;
    const names = witnesses.map(({ name }) => name).join(", ");
    const by = names === "" ? "" : ` (${names})`;
    const message = `${witnesses.length} of the ${quorum} required witnesses have cosigned a seal of this log${by}: wait until they have, or give a cosigned seal with --seal`;
    doubt(result, "witness_missing", message);
  }
}

/** Reports evidence that may lack events. */
function askForCompleteness(results: SourceResult[]): void {
  for (const result of results) {
    const { completeness, verdict } = result;
    if (verdict !== "verified" || completeness.is !== "unknown") continue;
    doubt(result, "completeness_unknown", `completeness cannot be established: ${completeness.why}`);
  }
}

/** Adds a reason why otherwise good evidence cannot be established. */
function doubt(result: SourceResult, code: ObstacleCode, message: string): void {
  result.report.problems.push(reportedObstacle(code, message));
  result.problemCount += 1;
  if (result.verdict === "verified") result.verdict = "undetermined";
}
