/** Judges pieces of evidence together, by what the auditor gives and asks for. */
import { parseOrigin, sealedWorkspace } from "../log/seal.ts";
import type { Verdict } from "./problems.ts";
import { lackOf } from "./quorum.ts";
import { doubt, overallVerdict, type SourceResult } from "./report.ts";
import type { SourceReport } from "./report-schema.ts";
import type { Trust } from "./trust.ts";

/** What the auditor gives, and asks for. */
interface Wanted {
  trust: Trust;
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
export function judge(results: SourceResult[], { trust, complete, digestOf }: Wanted): Judgement {
  forgiveOtherPlaces(results);
  askForSeals(results, trust);
  askForLogs(results, trust);
  askForWitnesses(results, trust);
  if (complete) askForCompleteness(results);
  for (const { report } of results) if (report.proof) report.proof.time_rests_on = timeSourceOf(report);
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

/** Reports evidence of logs that the policy does not list. */
function askForLogs(results: SourceResult[], { logs = null }: Trust): void {
  const ids = logs && new Set(Array.from(logs, (origin) => parseOrigin(origin).workspaceId));
  for (const result of results) {
    const { workspace_id } = result.report;
    if (ids === null || workspace_id === null || ids.has(workspace_id)) continue;
    const message = `the policy lists no log of ${workspace_id}: add a line "log KEY" with the verifier key that governd key-info prints`;
    doubt(result, "key_not_given", message);
  }
}

/** Reports evidence that fewer witnesses than required have cosigned. */
function askForWitnesses(results: SourceResult[], { quorum = null }: Trust): void {
  for (const result of results) {
    const lack = quorum === null ? null : lackOf(quorum, result.report.witnesses ?? []);
    if (lack === null) continue;
    doubt(result, "witness_missing", `${lack}: wait until they have, or give a cosigned seal with --seal`);
  }
}

/** Returns on whose word the time of a proof rests. */
function timeSourceOf(report: SourceReport): NonNullable<SourceReport["proof"]>["time_rests_on"] {
  if ((report.timestamps ?? []).length > 0) return "time_stamp";
  if ((report.witnesses ?? []).length > 0) return "witness";
  return report.anchored_through === null ? "clock" : "kept_seal";
}

/** Reports evidence that may lack events. */
function askForCompleteness(results: SourceResult[]): void {
  for (const result of results) {
    const { completeness, verdict } = result;
    if (verdict !== "verified" || completeness.is !== "unknown") continue;
    doubt(result, "completeness_unknown", `completeness cannot be established: ${completeness.why}`);
  }
}
