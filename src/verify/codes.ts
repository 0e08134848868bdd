/** Every code that a verification reports, with its words. A code without words does not compile. */

/** The version of the form of `--json`, which each report names. */
export const REPORT_SCHEMA = "governd.verify/1";

/** Which part of the evidence a code is about. Consequences are told from causes by it (causes.ts). */
export type Concern =
  /** One event, by itself or in its place. */
  | "event"
  /** The link of an event to the event before it. */
  | "link"
  /** The log as a whole: its end, its tree, what seals and an export's header say of it. */
  | "log"
  /** A seal by itself. */
  | "seal"
  /** A row beside the events. */
  | "row"
  /** An object of the file's schema. */
  | "schema";

interface CodeFacts {
  concern: Concern;
  /** What it means for an auditor. */
  means: string;
  /** What the auditor should do. */
  advice: string;
}

const facts = (concern: Concern, means: string, advice: string): CodeFacts => ({ concern, means, advice });

const COMPARE = "Compare the event with an export, a receipt or a backup that was made before the change.";
const FIND = "Look for the events in an export or a backup: only these can show what they said.";
const REWRITTEN =
  "Rely only on events under the newest seal that still fits. Compare the rest with exports and backups made earlier.";
const ROW = "Do not rely on this row. The log says what it should be; a backup may hold it.";
const AGAIN = "Ask for the export again. If the new one differs in the events, keep both.";
const ACCESS = "Ask who had access and since when, and look up what was done with it in the logs.";

/** Every code of a problem, which is a sign of tampering. The codes stay the same across releases. */
export const PROBLEMS = {
  event_malformed: facts(
    "event",
    "the bytes are not what the format allows in this place (an event in canonical form): they were changed or damaged",
    COMPARE,
  ),
  seq_gap: facts("event", "events are missing: the workspace's numbers have a gap", FIND),
  seq_repeated: facts("event", "an event is out of order or there twice: the workspace's numbers go back", COMPARE),
  agent_seq_gap: facts("link", "events of this agent are missing, repeated or out of order", FIND),
  link_broken: facts(
    "link",
    "the event before this one is not the one that this event was chained to",
    "Look at both events: one of them, or what was between them, was changed. A seal tells which events are genuine.",
  ),
  hash_mismatch: facts(
    "event",
    "the event was changed after it was written, or its hash was: the bytes do not have the hash that stands beside them",
    COMPARE,
  ),
  row_mismatch: facts(
    "row",
    "a column contradicts the event or the rows that it belongs to",
    "Rely on the event, if nothing else is wrong with it, and not on the column.",
  ),
  wrong_workspace: facts(
    "event",
    "the event belongs to another workspace",
    "Find out which log was put in place of this one.",
  ),
  wrong_agent: facts(
    "event",
    "the event belongs to another agent",
    "Find out which chain was put in place of this one.",
  ),
  genesis_invalid: facts("event", "the log does not begin as a workspace's log does", FIND),
  details_mismatch: facts(
    "event",
    "the details were changed after they were written: they do not fit their commitment",
    COMPARE,
  ),
  details_malformed: facts(
    "event",
    "the details are not canonical JSON or lack what this operation must carry",
    "The program that wrote them did not follow the format: ask which one it was.",
  ),
  details_missing: facts("event", "the details were removed, and no erasure in the log says so", COMPARE),
  details_restored: facts(
    "event",
    "the details that an erasure destroyed were put back",
    "Ask who kept a copy of what had to be erased.",
  ),
  content_orphan: facts("row", "stored data names an event that did not write it", ROW),
  content_mismatch: facts("row", "stored data is not what the event says was written", ROW),
  content_unprovable: facts("row", "the details that would prove this stored data are gone", ROW),
  content_stale: facts("row", "stored data was put back: the log holds a later event that replaced or ended it", ROW),
  content_changed: facts(
    "row",
    "the stored entries are not those that the log leaves: one is gone, was put back, or its life was altered",
    "Compare the agent's entries with the events that name their keys.",
  ),
  schema_mismatch: facts(
    "schema",
    "a table, index, trigger or view is not as governd makes it, or an index does not hold what its table holds",
    "Do not rely on what this file shows through the API. Ask for a backup and verify that.",
  ),
  content_missing: facts("row", "a stored record is gone although nothing in the log removed it", ROW),
  export_window: facts("log", "the events are not the ones that the export's header announces", AGAIN),
  export_count: facts("log", "the export does not hold as many events as it says", AGAIN),
  head_mismatch: facts(
    "log",
    "the log does not end with the event that is recorded as the last: its end was changed or cut off",
    "Compare with a seal that was kept elsewhere: it tells how long the log was.",
  ),
  root_mismatch: facts("log", "the events are not the ones that were sealed", REWRITTEN),
  seal_invalid: facts(
    "seal",
    "a seal is damaged, not in order, or not of this workspace",
    "Ask for the seals from a place that the operator does not control.",
  ),
  seal_signature: facts(
    "seal",
    "a seal was not signed by the expected key",
    "Compare the seal with the copy that a witness or another place took.",
  ),
  seal_beyond_log: facts(
    "log",
    "a seal covers more events than the log holds: the end of the log is missing",
    "Make sure that the evidence is not simply older than the seal. Otherwise ask where the events are.",
  ),
  seal_origin: facts(
    "seal",
    "a seal is of another epoch than its place in the log: an origin must not sign the history before or after a restore",
    "Ask why a seal was signed under an origin that a restore had ended.",
  ),
  rolled_back: facts(
    "log",
    "events under a seal that was kept elsewhere are gone: the log was put back from an older copy, says so itself, and does not name that seal",
    "Ask what was lost, and why. Keep the seal: it proves that the events existed.",
  ),
  restore_invalid: facts(
    "event",
    "a restore that the log declares does not fit the place where it stands",
    "Ask for the backup that it names.",
  ),
  anchor_mismatch: facts("log", "the log is not a continuation of the log that the given seal was made of", REWRITTEN),
  proof_invalid: facts("log", "the proof does not lead from the event to the seal", AGAIN),
  workspace_added: facts("row", "the control database has a workspace that no log created", ACCESS),
  workspace_missing: facts(
    "row",
    "a workspace has a log, but the control database does not know it",
    "Ask when the workspace was deleted, and by whom: the product does not delete workspaces.",
  ),
  workspace_changed: facts("row", "what the control database says of a workspace is not what its log says", ACCESS),
  key_added: facts("row", "the control database has an API key that no event created", ACCESS),
  key_missing: facts("row", "an API key that an event created is gone; keys are never deleted", ACCESS),
  key_moved: facts("row", "an API key belongs to another workspace than the one whose log created it", ACCESS),
  key_changed: facts(
    "row",
    "an API key is not as the events left it: its scope, agents, expiry, revocation or successor was changed",
    ACCESS,
  ),
  member_added: facts("row", "the control database has a member that no event added", ACCESS),
  member_missing: facts("row", "a member is gone although no event removed them", ACCESS),
  member_changed: facts("row", "a member does not have the role that the events gave them", ACCESS),
  invitation_added: facts("row", "the control database has an invitation that no event created", ACCESS),
  invitation_missing: facts(
    "row",
    "an invitation that an event created is gone; invitations are never deleted",
    ACCESS,
  ),
  invitation_changed: facts("row", "an invitation is not as the events left it", ACCESS),
  act_changed: facts("row", "an unfinished change of members, keys or workspaces is not what its event says", ACCESS),
} as const satisfies Record<string, CodeFacts>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Why something cannot be established, and what to do. Reported among the problems, but no sign of tampering. */
export const OBSTACLES = {
  evidence_unreadable: {
    means: "the file cannot be read, or not to its end",
    advice: "Copy it again. If that does not help, the disk or somebody damaged it: ask for a backup.",
  },
  not_evidence: { means: "this is no workspace and no export", advice: "Name another file." },
  newer_schema: { means: "a newer governd wrote this file", advice: "Verify it with that version." },
  export_incomplete: {
    means: "the export's end is missing, so nothing is known of what should follow",
    advice: "Resume the export or make it again.",
  },
  log_empty: {
    means: "nothing is there that could be verified",
    advice: "Bring a seal that was kept elsewhere: it tells whether there was a log.",
  },
  agent_unknown: { means: "the agent that was asked for is not in this evidence", advice: "Check the agent's name." },
  erasure_outside: {
    means: "details are gone, and the erasure that should name their events is not in this evidence",
    advice: "Export to the end of the log.",
  },
  seal_missing: {
    means: "no seal here could be checked as was asked",
    advice: "Bring another key or seal; the message says which.",
  },
  key_missing: {
    means: "without the right public key nothing can be established",
    advice: "Bring the key that signed the seal, from a place that the operator does not control.",
  },
  witness_missing: {
    means: "fewer witnesses than required have cosigned a seal of this log",
    advice: "Ask the witnesses which seals of this log they have cosigned.",
  },
  completeness_unknown: {
    means: "events may be missing that nothing here mentions",
    advice: "Bring a key or a kept seal, or a newer export.",
  },
} as const;

export type ObstacleCode = keyof typeof OBSTACLES;

/** What a code means, and what to do. */
export const wordsOf = (code: ProblemCode | ObstacleCode): { means: string; advice: string } =>
  code in OBSTACLES ? OBSTACLES[code as ObstacleCode] : PROBLEMS[code as ProblemCode];
