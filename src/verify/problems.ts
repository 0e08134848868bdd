/** What a verification can find wrong, with codes that stay the same across releases. */

/**
 * Stable problem codes. Beside each one what it means for an auditor.
 */
export const PROBLEM_MEANINGS = {
  event_malformed:
    "the bytes are not what the format allows in this place (an event in canonical form): they were changed or damaged",
  seq_gap: "events are missing: the workspace's numbers have a gap",
  seq_repeated: "an event is out of order or there twice: the workspace's numbers go back",
  agent_seq_gap: "events of this agent are missing, repeated or out of order",
  link_broken: "the event before this one is not the one that this event was chained to",
  hash_mismatch: "the event was changed after it was written: its bytes do not have the hash that stands beside it",
  row_mismatch: "a column beside the event says something else than the event",
  wrong_workspace: "the event belongs to another workspace",
  wrong_agent: "the event belongs to another agent",
  genesis_invalid: "the log does not begin as a workspace's log does",
  details_mismatch: "the details were changed after they were written: they do not fit their commitment",
  details_malformed: "the details are not canonical JSON or lack what this operation must carry",
  details_missing: "the details were removed, and no erasure in the log says so",
  details_restored: "the details that an erasure destroyed were put back",
  content_orphan: "stored data names an event that did not write it",
  content_mismatch: "stored data is not what the event says was written",
  content_unprovable: "the details that would prove this stored data are gone",
  content_stale: "stored data was put back: the log holds a later event that replaced or ended it",
  content_changed:
    "the stored entries are not those that the log leaves: one is gone, was put back, or its life was altered",
  schema_mismatch:
    "a table, index, trigger or view is not as governd makes it, or an index does not hold what its table holds",
  content_missing: "a stored record is gone although nothing in the log removed it",
  export_window: "the events are not the ones that the export's header announces",
  export_count: "the export does not hold as many events as it says",
  head_mismatch: "the log does not end with the event that is recorded as the last: its end was changed or cut off",
  root_mismatch: "the events are not the ones that were sealed",
  seal_invalid: "a seal is damaged, not in order, or not of this workspace",
  seal_signature: "a seal was not signed by the expected key",
  seal_beyond_log: "a seal covers more events than the log holds: the end of the log is missing",
  seal_origin:
    "a seal is of another epoch than its place in the log: an origin must not sign the history before or after a restore",
  rolled_back:
    "events under a seal that was kept elsewhere are gone: the log was put back from an older copy, says so itself, and does not name that seal",
  restore_invalid: "a restore that the log declares does not fit the place where it stands",
  anchor_mismatch: "the log is not a continuation of the log that the given seal was made of",
  proof_invalid: "the proof does not lead from the event to the seal",
  workspace_added: "the control database has a workspace that no log created",
  workspace_missing: "a workspace has a log, but the control database does not know it",
  workspace_changed: "what the control database says of a workspace is not what its log says",
  key_added: "the control database has an API key that no event created",
  key_missing: "an API key that an event created is gone; keys are never deleted",
  key_moved: "an API key belongs to another workspace than the one whose log created it",
  key_changed:
    "an API key is not as the events left it: its scope, agents, expiry, revocation or successor was changed",
  member_added: "the control database has a member that no event added",
  member_missing: "a member is gone although no event removed them",
  member_changed: "a member does not have the role that the events gave them",
  invitation_added: "the control database has an invitation that no event created",
  invitation_missing: "an invitation that an event created is gone; invitations are never deleted",
  invitation_changed: "an invitation is not as the events left it",
  act_changed: "an unfinished change of members, keys or workspaces is not what its event says",
} as const;

export type ProblemCode = keyof typeof PROBLEM_MEANINGS;

const CHAIN_CODES: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "event_malformed",
  "seq_gap",
  "seq_repeated",
  "agent_seq_gap",
  "link_broken",
  "wrong_workspace",
  "wrong_agent",
  "genesis_invalid",
  "export_window",
  "export_count",
  "head_mismatch",
]);

/** Whether a problem breaks links or numbers; all others leave the chain intact. */
export const breaksChain = (code: ProblemCode): boolean => CHAIN_CODES.has(code);

/** One thing that is wrong. `seq` and `id` are null where no single event is meant. */
export interface Problem {
  code: ProblemCode;
  seq: number | null;
  id: string | null;
  message: string;
}

/** The first bad event of a chain or log. */
export interface FirstInvalid {
  seq: number;
  id: string | null;
  reason: string;
}

/** How many problems a report names; all are counted. */
export const MAX_REPORTED_PROBLEMS = 1000;

/** Collects problems in bounded memory. */
export class ProblemList {
  readonly reported: Problem[] = [];
  #count = 0;
  #first: FirstInvalid | null = null;

  /** How many were found, reported or not. */
  get count(): number {
    return this.#count;
  }

  /** The problem with the lowest seq; null when no problem has one. */
  get first(): FirstInvalid | null {
    return this.#first;
  }

  add(problem: Problem): void {
    this.#count += 1;
    if (this.reported.length < MAX_REPORTED_PROBLEMS) this.reported.push(problem);
    if (problem.seq !== null && (this.#first === null || problem.seq < this.#first.seq)) {
      this.#first = { seq: problem.seq, id: problem.id, reason: problem.message };
    }
  }

  /** Adds what another list holds. */
  addAll({ reported, count, first }: ReturnType<ProblemList["toPlain"]>): void {
    this.#count += count;
    this.reported.push(...reported.slice(0, MAX_REPORTED_PROBLEMS - this.reported.length));
    if (first !== null && (this.#first === null || first.seq < this.#first.seq)) this.#first = first;
  }

  /** The list as plain data. */
  toPlain(): { reported: Problem[]; count: number; first: FirstInvalid | null } {
    return { reported: this.reported, count: this.#count, first: this.#first };
  }
}

/** What a verification establishes. Tampering that was found outranks what could not be established. */
export type Verdict = "verified" | "tampered" | "undetermined";

/** The verdict of a report: of a log, a workspace or an export. */
export function verdictOf(report: {
  problemCount: number;
  seals?: { undetermined: readonly string[] } | null;
  undetermined?: string | null;
}): Verdict {
  if (report.problemCount > 0) return "tampered";
  const open = (report.undetermined ?? null) !== null || (report.seals?.undetermined.length ?? 0) > 0;
  return open ? "undetermined" : "verified";
}
