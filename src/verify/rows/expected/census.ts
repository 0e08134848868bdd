/** Compares the stored entries as a whole with the log as a whole, by the two sums of {@link Replay}. */

import type { FileEvent } from "../../../core/rows/log/stored-events.ts";
import { orNull } from "../../../failure.ts";
import type { JsonObject } from "../../../json.ts";
import { EventFormatError } from "../../../log/event.ts";
import { bodyOf } from "../../../log/present.ts";
import type { LogVerifier } from "../../events/log-verifier.ts";
import { allOf, type Finding } from "../../problems.ts";
import type { StateRoots } from "../../state/roots.ts";
import type { StoredLife } from "../entry.ts";
import type { Histories, PrefixChange } from "./history.ts";
import { partOf, Replay } from "./replay.ts";
import { MultisetPrint, nameOfRow, wholeName } from "./versions.ts";

export class Census {
  readonly replay: Replay;
  /** Sums of the stored rows of each agent, by part of the keys. */
  readonly #stored = new Map<string | null, MultisetPrint[]>();

  /**
   * @param maxKeys the most keys that are followed at once
   * @param begin adds the rows that a pruning kept, before the first event
   * @param roots the state roots that are computed again; null for none
   */
  constructor(
    readonly histories: Histories,
    maxKeys?: number,
    private readonly begin?: (replay: Replay, histories: Histories) => Promise<unknown>,
    private readonly roots: StateRoots | null = null,
  ) {
    this.replay = new Replay(histories, maxKeys, roots);
  }

  /** Adds a stored row, after the log was read. Returns a problem when the log holds a later one of its key. */
  add(agentId: string | null, row: StoredLife): Finding | null {
    const { replay } = this;
    const name = nameOfRow(this.histories.of(agentId), row);
    if (name !== null) {
      const none = () => Array.from({ length: replay.parts }, () => new MultisetPrint());
      const sums = this.#stored.getOrInsertComputed(agentId, none);
      sums[partOf(row.key, replay.parts)]?.add(name);
    }
    const known = row.live_to === null && !replay.overflowed;
    const present = known ? replay.presentOf(agentId, row.key) : null;
    if (present === null || present <= row.live_from) return null;
    return { code: "content_stale", message: `a stored entry is older than what event ${present} wrote` };
  }

  /** Returns the name of an ended row in {@link Replay.endedOf}; null when that does not count it. @param digest of its content */
  wholeNameOf(agentId: string | null, row: StoredLife, digest: string | null): string | null {
    const { live_from: from, written_seq: written, live_to: to } = row;
    const history = this.histories.of(agentId);
    const isCounted = from === written && row.expires_at === null && history.knowsOrigins(from);
    if (digest === null || to === null || !isCounted || nameOfRow(history, row) === null) return null;
    const version = { written, created: row.created_seq, timeMs: row.updated_at, createdMs: row.created_at, digest };
    return wholeName(row.key, version, to);
  }

  /** Compares the sums; to be called after the last row. @param again reads the log again, without verifying it */
  async compare(verifier: LogVerifier, again: () => AsyncGenerator<FileEvent[]>): Promise<void> {
    const { replay } = this;
    this.roots?.finish(replay, verifier);
    if (!replay.overflowed) {
      this.#compare(verifier, replay, 0);
      return reportImpossible(verifier, this.histories, [replay]);
    }
    const parts: Replay[] = [];
    for (let part = 0; part < replay.parts; part++) {
      const histories = this.histories.restarted();
      const partial = new Replay(histories, { part, parts: replay.parts });
      await this.begin?.(partial, histories);
      for await (const page of again()) for (const stored of page) addTo(partial, stored);
      this.#compare(verifier, partial, part);
      parts.push(partial.withoutKeys());
    }
    reportImpossible(verifier, this.histories, parts);
  }

  #compare(verifier: LogVerifier, replay: Replay, part: number): void {
    for (const [agentId, { last }] of verifier.chains) {
      const stored = this.#stored.get(agentId)?.[part] ?? new MultisetPrint();
      // The sum is unknown if details of the agent's events are erased.
      if (replay.expected(agentId).equals(stored)) continue;
      const message = "the stored entries of an agent are, as a whole, not those that the log leaves";
      verifier.report("content_changed", agentId, last.event.seq, message, allOf("entries"));
    }
  }
}

/** Reports events that are not possible after those before them. @param parts replays of all parts of the keys */
function reportImpossible(verifier: LogVerifier, { quarantines }: Histories, parts: readonly Replay[]): void {
  const report = (agentId: string | null, seq: number, message: string): void =>
    verifier.report("operation_impossible", agentId, seq, message, allOf("entries"));
  for (const { impossible } of [quarantines, ...parts])
    for (const { agentId, seq, message } of impossible) report(agentId, seq, message);
  for (const agentId of verifier.chains.keys()) {
    const [changes = [], ...others] = parts.map((replay) => replay.prefixChanges(agentId));
    for (const [index, { seq, stated, blankWrites, ...first }] of changes.entries()) {
      const same = [first, ...others.map((list) => list[index] as PrefixChange)];
      const least = same.reduce((sum, { found }) => sum + found, 0);
      const most = same.reduce((sum, { open }) => sum + open, least + blankWrites);
      if (stated === null || (least <= stated && stated <= most)) continue;
      report(agentId, seq, "the operation states another number of entries than there were under its prefix");
    }
  }
}

/** Applies the next event of the log, as it is stored, to a replay. */
export function addTo(replay: Replay, stored: FileEvent): void {
  // The verification of the log has reported bytes that are not an event.
  const event = orNull(EventFormatError, () => bodyOf(stored));
  const { details } = stored;
  if (event !== null) replay.take(event, details === null ? null : (JSON.parse(details) as JsonObject));
}
