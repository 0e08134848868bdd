/**
 * Declared restores. A workspace that was restored from a backup states that in its own log, so that the following
 * events are a new epoch and not a silent rollback. The event directly follows the last one in the backup and names it.
 * The next seal covers both.
 *
 * Each epoch seals under its own origin, so that no origin signs two histories (C2SP tlog-checkpoint): a witness that
 * cosigned lost events would otherwise refuse the log for good. The event names the seals over lost events that were
 * known. A kept seal that it names is explained. Any other seal over lost events contradicts the log, since anyone with
 * the disk and the key could declare a restore.
 */
import type { ValueForm } from "../details.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { NEW_EPOCH } from "../operations.ts";
import type { AuditEventBody } from "./event.ts";
import { hexOf } from "./rows.ts";
import { LOG_RESTORE, parseOrigin, type Seal } from "./seal.ts";

/** The most lost seals that an event names: the newest ones. */
export const MAX_LOST_SEALS = 1_000;

type TreeHead = { size: number; root: string };

/** The members of `log.restore` that begin an epoch with an origin of its own. */
export type NewEpoch = {
  /** The origin of the seals that cover this event, and the one before it. */
  origin: string;
  previous_origin: string;
  /** SHA-256 of the raw Ed25519 key that seals, which is the key in force before. */
  signing_key: string;
  /** The last known seal of the previous origin. */
  last_seal: TreeHead | null;
  /** The known seals over events that are lost, of any origin, in ascending order of size. */
  lost_seals: ({ origin: string } & TreeHead)[];
  /** The last position that is known to be lost. */
  lost_through: number | null;
};

const EPOCH_FORMS: Readonly<Record<keyof NewEpoch, ValueForm>> = NEW_EPOCH;

const isNewEpoch = (said: JsonObject): said is NewEpoch =>
  Object.entries(EPOCH_FORMS).every(([name, { fits }]) => fits(said[name] as JsonValue)) &&
  (said.lost_seals as JsonValue[]).length <= MAX_LOST_SEALS;

/** One declared restore. Members other than `seq` and `timestamp` are null when the details are erased. */
export interface DeclaredRestore {
  /** The event that declares it: the first one of the new epoch. */
  seq: number;
  timestamp: string;
  /** The last event that the backup held, and its hash. */
  headSeq: number | null;
  headHash: string | null;
  /** When the backup was made. */
  backupCreatedAt: string | null;
  /** SHA-256 of the backup's manifest. */
  backupDigest: string | null;
  /** The workspaces that the backup lacked, if this log states them. */
  workspacesLeftOut: readonly string[];
  /** The epoch that it begins; `malformed` when the members are not in order. */
  epoch: NewEpoch | "malformed" | null;
}

/** Returns the restore that an event declares; null when it declares none. */
export function declaredRestore(event: AuditEventBody, details: JsonObject | null): DeclaredRestore | null {
  if (event.operation !== LOG_RESTORE || event.agent_id !== null || event.result !== "ok") return null;
  const said = details ?? {};
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return {
    seq: event.seq,
    timestamp: event.timestamp,
    headSeq: typeof said.head_seq === "number" ? said.head_seq : null,
    headHash: text(said.head_hash),
    backupCreatedAt: text(said.backup_created_at),
    backupDigest: text(said.backup_digest),
    workspacesLeftOut: Array.isArray(said.workspaces_left_out) ? said.workspaces_left_out.map(String) : [],
    epoch: details === null ? null : isNewEpoch(said) ? said : "malformed",
  };
}

/** Returns what is wrong with a restore after the event `last`; null when nothing is, or the details are erased. */
export function restoreProblem(restore: DeclaredRestore, last: { seq: number; hash: string } | null): string | null {
  if (last === null || restore.headSeq === null) return null;
  if (restore.headSeq === last.seq && restore.headHash === last.hash) return null;
  return "a restore names another event than the one before it as the last that was restored";
}

/**
 * Returns what is wrong with the epoch that a restore begins; null for nothing. The origin and key in force may be
 * unknown.
 */
export function epochProblem(
  { seq, epoch }: DeclaredRestore,
  before: { origin: string | null; signingKey: string | null },
): string | null {
  if (epoch === null) return null;
  if (epoch === "malformed") return "a restore does not state its epoch in the form that it must have";
  const { origin, previous_origin, signing_key, last_seal, lost_seals, lost_through } = epoch;
  if (previous_origin !== (before.origin ?? previous_origin))
    return "a restore names another origin than the one before";
  if (signing_key !== (before.signingKey ?? signing_key)) return "a restore names another key than the one that seals";
  const [next, previous] = [parseOrigin(origin), parseOrigin(previous_origin)];
  const follows = next.base === previous.base && next.epoch > previous.epoch;
  if (!follows) return "the origin that a restore begins does not follow the one before";
  const sizes = lost_seals.map(({ size }) => size);
  const inOrder = sizes.every((size, at) => size > seq && size >= (sizes[at - 1] ?? 0));
  const earlier = lost_seals.map((lost) => parseOrigin(lost.origin));
  const own = earlier.every(({ base, epoch: number }) => base === next.base && number < next.epoch);
  const isNamed = (head: { size: number; root: string }) =>
    lost_seals.some((lost) => lost.origin === previous_origin && isSame(lost, head));
  const last = last_seal === null || last_seal.size <= seq || isNamed(last_seal);
  const end = sizes.at(-1);
  if (inOrder && own && last && lost_through === (end === undefined ? null : end - 1)) return null;
  return "a restore names lost seals that it cannot have lost";
}

const isSame = (a: { size: number; root: string }, b: { size: number; root: string }): boolean =>
  a.size === b.size && a.root === b.root;

/** Reports whether a restore names a seal as one over lost events. */
export function isNamedLost({ epoch }: DeclaredRestore, { origin, size, root }: Seal): boolean {
  if (epoch === null || epoch === "malformed") return false;
  return epoch.lost_seals.some((lost) => lost.origin === origin && isSame(lost, { size, root: hexOf(root) }));
}
