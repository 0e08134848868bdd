/** Every code that a verification reports, with its explanation. */

/** The version of the `--json` report, which each report states. */
export const REPORT_SCHEMA = "governd.verify/1";

type Words = readonly [means: string, advice: string];

const COMPARE = "Compare the event with an export, a receipt or a backup that was made before the change.";
const FIND = "Look for the events in an export or a backup: only these can show what they said.";
const REWRITTEN =
  "Rely only on events under the newest seal that still fits. Compare the rest with exports and backups made earlier.";
const ROW = "Do not rely on this row. The log says what it should be; a backup may hold it.";
const AGAIN = "Ask for the export again. If the new one differs in the events, keep both.";
const FORGED =
  "No governd recorded this event as it stands: ask who held the sealing key, and do not rely on the event.";
const ACCESS = "Ask who had access and since when, and look up what was done with it in the logs.";

/** The codes of problems, by the part of the evidence that they concern. They stay the same across releases. */
const BY_CONCERN = {
  /** One event, by itself or in its place. */
  event: {
    event_malformed: [
      "the bytes are not what the format allows in this place (an event in canonical form): they were changed or damaged",
      COMPARE,
    ],
    seq_gap: ["events are missing: the workspace's numbers have a gap", FIND],
    seq_repeated: ["an event is out of order or there twice: the workspace's numbers go back", COMPARE],
    hash_mismatch: [
      "the event was changed after it was written, or its hash was: the bytes do not have the hash that stands beside them",
      COMPARE,
    ],
    wrong_workspace: ["the event belongs to another workspace", "Find out which log was put in place of this one."],
    wrong_agent: ["the event belongs to another agent", "Find out which chain was put in place of this one."],
    genesis_invalid: ["the log does not begin as a workspace's log does", FIND],
    details_mismatch: ["the details were changed after they were written: they do not fit their commitment", COMPARE],
    details_malformed: [
      "the details are not a JSON object in canonical form",
      "The program that wrote them did not follow the format: ask which one it was.",
    ],
    details_invalid: [
      "the details do not have the one form that their operation has with this result",
      "The program that wrote them was not governd, or somebody made the event: ask which program it was.",
    ],
    details_missing: ["the details were removed, and no erasure in the log says so", COMPARE],
    details_restored: [
      "the details that an erasure destroyed were put back",
      "Ask who kept a copy of what had to be erased.",
    ],
    operation_unknown: ["there is no such operation, result or kind of actor", FORGED],
    vocabulary_invalid: [
      "the number of the vocabulary is not the next one, or not the one that the log announces",
      FORGED,
    ],
    operation_impossible: ["what the operation needs was not there when it was recorded", FORGED],
    actor_impossible: ["nobody of this kind can request the operation", FORGED],
    result_impossible: ["the operation never ends with this result, or not with this blocked_by", FORGED],
    chain_impossible: ["the operation is never recorded in this chain", FORGED],
    restore_invalid: [
      "a restore that the log declares does not fit the place where it stands",
      "Ask for the backup that it names.",
    ],
  },
  /** The link of an event to the event before it. */
  link: {
    agent_seq_gap: ["events of this agent are missing, repeated or out of order", FIND],
    link_broken: [
      "the event before this one is not the one that this event was chained to",
      "Look at both events: one of them, or what was between them, was changed. A seal tells which events are genuine.",
    ],
  },
  /** The log as a whole: its end, its tree, and the statements of seals and an export's header about it. */
  log: {
    export_window: ["the events are not the ones that the export's header announces", AGAIN],
    export_count: ["the export does not hold as many events as it says", AGAIN],
    head_mismatch: [
      "the log does not end with the event that is recorded as the last: its end was changed or cut off",
      "Compare with a seal that was kept elsewhere: it tells how long the log was.",
    ],
    root_mismatch: ["the events are not the ones that were sealed", REWRITTEN],
    seal_beyond_log: [
      "a seal covers more events than the log holds: the end of the log is missing",
      "Make sure that the evidence is not simply older than the seal. Otherwise ask where the events are.",
    ],
    rolled_back: [
      "events under a seal that was kept elsewhere are gone: the log was put back from an older copy, says so itself, and does not name that seal",
      "Ask what was lost, and why. Keep the seal: it proves that the events existed.",
    ],
    anchor_mismatch: ["the log is not a continuation of the log that the given seal was made of", REWRITTEN],
    proof_invalid: ["the proof does not lead from the event to the seal", AGAIN],
  },
  /** A seal by itself. */
  seal: {
    seal_invalid: [
      "a seal is damaged, not in order, or not of this workspace",
      "Ask for the seals from a place that the operator does not control.",
    ],
    seal_signature: [
      "a seal was not signed by the expected key",
      "Compare the seal with the copy that a witness or another place took.",
    ],
    seal_origin: [
      "a seal is of another epoch than its place in the log: an origin must not sign the history before or after a restore",
      "Ask why a seal was signed under an origin that a restore had ended.",
    ],
  },
  /** A row beside the events. */
  row: {
    row_mismatch: [
      "a column contradicts the event or the rows that it belongs to",
      "Rely on the event, if nothing else is wrong with it, and not on the column.",
    ],
    content_orphan: ["stored data names an event that did not write it", ROW],
    content_mismatch: ["stored data is not what the event says was written", ROW],
    content_unprovable: ["the details that would prove this stored data are gone", ROW],
    content_stale: ["stored data was put back: the log holds a later event that replaced or ended it", ROW],
    content_changed: [
      "the stored entries are not those that the log leaves: one is gone, was put back, or its life was altered",
      "Compare the agent's entries with the events that name their keys.",
    ],
    content_missing: ["a stored record is gone although nothing in the log removed it", ROW],
    row_added: ["a row is stored that no event of the log made", ACCESS],
    row_missing: ["a row is gone although no event of the log removed it", ACCESS],
    row_changed: ["a row is not as the events of the log left it", ACCESS],
    workspace_missing: [
      "the file of a workspace is not there, and the log of the installation does not say that it was deleted",
      "Look for the workspace in a backup or an export, and ask who removed it.",
    ],
    workspace_behind_head: [
      "a workspace is not the one of which the log of the installation recorded the head, or is older",
      "Look for the newer state in a backup or an export, and ask who put the older one back.",
    ],
    workspace_unknown: [
      "there is a workspace that the log of the installation does not know",
      "Ask where the file comes from: governd did not make it in this data directory.",
    ],
  },
  /** An object of the file's schema. */
  schema: {
    schema_mismatch: [
      "a table, index, trigger or view is not as governd makes it, or an index does not hold what its table holds",
      "Do not rely on what this file shows through the API. Ask for a backup and verify that.",
    ],
  },
} as const satisfies Record<string, Record<string, Words>>;

/** The part of the evidence that a code concerns, by which causes.ts distinguishes causes and consequences. */
type Concern = keyof typeof BY_CONCERN;
type KeysOf<T> = T extends unknown ? keyof T : never;
/** A sign of tampering. */
export type ProblemCode = KeysOf<(typeof BY_CONCERN)[Concern]>;

interface CodeFacts {
  means: string;
  advice: string;
}

/** Every code of a problem. */
export const PROBLEMS = Object.fromEntries(
  Object.entries<Record<string, Words>>(BY_CONCERN).flatMap(([concern, codes]) =>
    Object.entries(codes).map(([code, [means, advice]]) => [code, { concern, means, advice }]),
  ),
) as Record<ProblemCode, CodeFacts & { concern: Concern }>;

/**
 * Why something cannot be established, and what to do. Obstacles are reported among the problems, but are not
 * tampering.
 */
export const OBSTACLES = {
  evidence_unreadable: {
    means: "the file cannot be read, or not to its end",
    advice: "Copy it again. If that does not help, the disk or somebody damaged it: ask for a backup.",
  },
  copied_while_written: {
    means: "the database, its log and its seals are copies of different moments, or may be",
    advice: "Copy all of them again, as docs/auditing.md says, or make a backup and verify that.",
  },
  workspace_left_out: {
    means: "a backup was made, or restored, without this workspace",
    advice: "Ask for a backup that has it, and for what was wrong with it.",
  },
  node_copies: {
    means: "these are a node's copies of what is on a libSQL server: some may be missing or old",
    advice: "Verify what is on the server: governd verify URL.",
  },
  not_evidence: { means: "this is no workspace and no export", advice: "Name another file." },
  encoding_unknown: {
    means: "the database has another encoding of texts than UTF-8, which governd never makes",
    advice: "Ask who converted the file, and for the file as it was.",
  },
  newer_schema: { means: "a newer governd wrote this file", advice: "Verify it with that version." },
  newer_vocabulary: {
    means: "events are under a greater vocabulary than this program knows, so what they did was not checked",
    advice: "Verify the evidence with a newer governd.",
  },
  newer_format: {
    means: "the evidence has a format, or states a vocabulary, that this program does not know",
    advice: "Verify it with a newer governd.",
  },
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
  key_not_given: {
    means: "without the right public key nothing can be established",
    advice: "Bring the key that signed the seal, from a place that the operator does not control.",
  },
  witness_missing: {
    means: "fewer witnesses than required have cosigned a seal of this log",
    advice: "Ask the witnesses which seals of this log they have cosigned.",
  },
  timestamp_missing: {
    means: "no seal here has a time stamp that counts",
    advice: "Bring a stamped seal or another authority; the message says why others do not count.",
  },
  completeness_unknown: {
    means: "events may be missing that nothing here mentions",
    advice: "Bring a key or a kept seal, or a newer export.",
  },
} as const;

export type ObstacleCode = keyof typeof OBSTACLES;

/** Returns the explanation of a problem or an obstacle. */
export const wordsOf = (code: ProblemCode | ObstacleCode): CodeFacts =>
  code in OBSTACLES ? OBSTACLES[code as ObstacleCode] : PROBLEMS[code as ProblemCode];
