/**
 * Plans the epoch that a restore begins in a workspace's log: the new origin of its seals, and the known seals over
 * lost events, which the log then names.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { newestSeal, sealingKey, sealingKeys } from "../core/rows/log/seals.ts";
import { treeRoot } from "../core/rows/log/tree.ts";
import { Failure } from "../failure.ts";
import type { RandomPool } from "../ids.ts";
import { sameHash } from "../log/merkle.ts";
import { parseVerifierKey, type VerifierKey, verifierKey } from "../log/note.ts";
import { MAX_LOST_SEALS, type NewEpoch } from "../log/restores.ts";
import { hexOf } from "../log/rows.ts";
import { checkSeal, LOG_RESTORE, parseOrigin, parseSeal, type Seal } from "../log/seal.ts";
import type { Reader } from "../store/transaction.ts";
import { readSeals } from "../verify/trust.ts";

/** Seals that outlived the lost data directory, from seal files, data directories and directories of seal files. */
export class KeptSeals {
  /** Files that end inside a seal, which was not used: a crash or a person has truncated them. */
  readonly cutOff = new Set<string>();
  readonly #directories: string[] = [];
  readonly #seals: Seal[] = [];

  /** @throws {Failure} `usage` when a path does not exist, or a file has no seals */
  constructor(paths: readonly string[]) {
    for (const path of paths) {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) throw new Failure("usage", `--seals ${path} is missing.`);
      if (stat.isDirectory()) this.#directories.push(path, join(path, "seals"));
      else this.#seals.push(...this.#read(path));
    }
  }

  /** Returns the seals whose origin begins with `base`. @throws {Failure} `usage` when a file holds no seals */
  of(base: string, workspaceId: string): Seal[] {
    const files = this.#directories.map((directory) => join(directory, `${workspaceId}.log`)).filter(existsSync);
    const all = [...this.#seals, ...files.flatMap((file) => this.#read(file))];
    return all.filter(({ origin }) => parseOrigin(origin).base === base);
  }

  #read(path: string): Seal[] {
    return readSeals("--seals", path, () => this.cutOff.add(path));
  }
}

const RANDOM_NUMBERS = 100_000;
/** The last second with ten digits: an epoch has at most 15 digits. */
const LAST_SECOND = 9_999_999_999;

/**
 * Returns a number for an epoch: the time in seconds since the Unix epoch, followed by five random digits. So a backup
 * that is restored twice gets two origins, even on independent machines.
 */
export function epochNumber(nowMs: number, random: RandomPool): number {
  const digits = new DataView(random.take(4).buffer).getUint32(0) % RANDOM_NUMBERS;
  return Math.min(Math.floor(nowMs / 1000), LAST_SECOND) * RANDOM_NUMBERS + digits;
}

/** A new epoch: the key under its new name, and the other members of `log.restore` that state the epoch. */
interface EpochPlan {
  key: VerifierKey;
  details: Omit<NewEpoch, "origin" | "signing_key">;
}

/**
 * Plans the epoch of a restored workspace. Its number is `number`, or a greater one if the log or a known seal has an
 * epoch that is not less.
 * @param number from {@link epochNumber}
 * @param sealFile the workspace's own file of seals, as restored
 * @throws {Failure} `usage` when a kept seal is damaged
 */
export async function planEpoch(
  reader: Reader,
  { workspaceId, headSeq }: { workspaceId: string; headSeq: number },
  { number, kept, sealFile }: { number: number; kept: KeptSeals; sealFile: string },
): Promise<EpochPlan> {
  const named = await sealingKey(reader);
  if (named === null) throw new Failure("backup_unusable", `The log of ${workspaceId} names no sealing key.`);
  const { name: previous, publicKey } = parseVerifierKey(named);
  const { base, epoch } = parseOrigin(previous);
  const newest = await newestSeal(reader);
  const given = kept.of(base, workspaceId);
  const own = [
    ...(newest === null ? [] : [parseSeal(newest.note)]),
    // An incomplete seal at the file's end is ignored, since the database has it, too.
    ...(existsSync(sealFile) ? readSeals("the backup's", sealFile, () => {}) : []),
  ];
  const keys = (await sealingKeys(reader)).map(({ verifierKey: text }) => parseVerifierKey(text).publicKey);
  const damaged = given.find((seal) => keys.some((key) => checkSeal(seal, key) === "bad"));
  if (damaged !== undefined) {
    throw new Failure("usage", `A seal of ${workspaceId} over ${damaged.size} events, given with --seals, is damaged.`);
  }
  const known = [...own, ...given];
  const last = await lastSeal(
    reader,
    headSeq,
    known.filter(({ origin }) => origin === previous),
  );
  const lost = distinct(known.filter(({ size }) => size > headSeq + 1))
    .sort(bySize)
    .slice(-MAX_LOST_SEALS);
  const restores = await reader.value<number>("SELECT count(*) FROM events WHERE operation = ? AND agent_id IS NULL", [
    LOG_RESTORE,
  ]);
  const latest = Math.max(epoch, 1 + (restores ?? 0), ...known.map(({ origin }) => parseOrigin(origin).epoch));
  return {
    key: verifierKey(`${base}/${Math.max(number, latest + 1)}`, publicKey),
    details: {
      previous_origin: previous,
      last_seal: last === undefined ? null : headOf(last),
      lost_seals: lost.map((seal) => ({ origin: seal.origin, ...headOf(seal) })),
      lost_through: lost.length === 0 ? null : (lost.at(-1) as Seal).size - 1,
    },
  };
}

/** Returns the largest seal that covers lost events or matches this log. A seal of another history is skipped. */
async function lastSeal(reader: Reader, headSeq: number, seals: readonly Seal[]): Promise<Seal | undefined> {
  for (const seal of seals.toSorted(bySize).reverse()) {
    if (seal.size > headSeq + 1 || sameHash(seal.root, await treeRoot(reader, seal.size))) return seal;
  }
  return undefined;
}

const bySize = (a: Seal, b: Seal): number => a.size - b.size;
const headOf = ({ size, root }: Seal) => ({ size, root: hexOf(root) });
const distinct = (seals: readonly Seal[]): Seal[] => [...new Map(seals.map((seal) => [seal.note.text, seal])).values()];
