/** What is made ready before the events of a workspace are read, and what is told of each of them. */
import { type AuditEventBody, parseEvent } from "../log/event.ts";
import { ROTATE_SEAL_KEY, type Seal } from "../log/seal.ts";
import { prunedBefore } from "../state/pruning.ts";
import type { Reader } from "../store/transaction.ts";
import { keepPageMemory } from "./events/event-pages.ts";
import { LogVerifier } from "./events/log-verifier.ts";
import type { StoredCheck } from "./rows/agents.ts";
import { Census } from "./rows/expected/census.ts";
import { FOLLOWED } from "./rows/expected/disturb.ts";
import { LogTally, TALLIED } from "./rows/expected/tally.ts";
import { loadTimelines } from "./rows/expected/timelines.ts";
import { KeyCheck, readKeys } from "./rows/stored-seals.ts";
import { TileCheck } from "./rows/stored-tiles.ts";

/** What is verified: everything, or one agent's chain and what is stored for it. */
export type VerificationScope = { scope: "workspace" } | { agentId: string };

export interface WorkspaceVerificationOptions {
  /**
   * Told after each page how many events were checked and how many there are, as the file says. What
   * it returns is awaited, so that a caller can give way to other work.
   */
  onProgress?: (checked: number, total: number) => void | Promise<void>;
  /** How many keys are followed at once: with more, the log is read several times. Bounds the memory. */
  maxKeys?: number;
  /** The key that seals are to be signed with, 32 raw bytes; null without one. */
  publicKey?: Uint8Array | null;
  /** Seals that were kept elsewhere: those of this workspace must be of this log. */
  anchors?: readonly Seal[];
  /** Opens the workspace's file of seals. */
  sealFile?: (() => AsyncIterable<Uint8Array>) | null;
  /** How many threads verify a large log, unless something is wrong with it; one without. */
  threads?: { count: number; patient?: boolean };
  /** The least events that are divided, and how many are a part, a multiple of a tile's. */
  division?: { from: number; events: number };
}

/** Operations besides `data.write` that are counted, or followed from key to key. */
const COUNTED: ReadonlySet<string> = new Set([...TALLIED, ...FOLLOWED]);

/** Operations of which what is stored beside the log depends. */
export const NOTED: ReadonlySet<string> = new Set([
  ...COUNTED,
  ...["data.write", "workspace.create", ROTATE_SEAL_KEY],
]);

/** What a verification works with. */
export interface Prepared extends StoredCheck {
  keys: KeyCheck;
  tiles: TileCheck;
  /** From where the log has all its events. */
  before: number;
  /** Counts an event and follows it; `details` are null where erased or not genuine. */
  take(event: AuditEventBody, details: string | null): void;
  /** Counts an event without following it. */
  observe(event: AuditEventBody, details: string | null): void;
}

/** Reads what must be known beforehand. */
export async function prepare(
  reader: Reader,
  scope: VerificationScope,
  { maxKeys, publicKey = null }: WorkspaceVerificationOptions,
): Promise<Prepared> {
  await keepPageMemory(reader);
  const tally = new LogTally();
  const before = await prunedBefore(reader);
  tally.partial = before > 0;
  const census = new Census(await loadTimelines(reader, scope), maxKeys);
  const keys = new KeyCheck();
  const offered = (await readKeys(reader)).flatMap(({ key }) => (key === null ? [] : [key.publicKey]));
  const observe = (event: AuditEventBody, details: string | null) => {
    keys.add(event, details);
    tally.add(event, details);
  };
  const take = (event: AuditEventBody, details: string | null) => {
    observe(event, details);
    census.replay.add(event, details);
  };
  const verifier: LogVerifier = new LogVerifier({
    scope: "agentId" in scope ? "agent" : "workspace",
    start: "agentId" in scope && before > 0 ? "anywhere" : "beginning",
    ...("agentId" in scope ? {} : { seals: { trusted: publicKey, offered } }),
    onEvent: take,
    onAccepted: (accepted, text) => {
      const { operation, result } = accepted.shape.event;
      if (operation === "data.write") {
        if (result === "allowed") census.replay.addWrite(accepted, text);
        return;
      }
      if (!COUNTED.has(operation)) return;
      const event = parseEvent(text.text(accepted.start, accepted.end));
      take(event, text.text(accepted.detailsAt, accepted.detailsEnd));
    },
    onTile: (tile, hashes, root) => tiles.add(tile, hashes, root),
  });
  const tiles = new TileCheck(reader, verifier);
  return { reader, verifier, tally, census, keys, tiles, before, take, observe };
}
