/** Computes the root over all entries that are present, for the daemon to record. */
import { presentLeaves } from "../../../core/rows/listing/present.ts";
import { headOf } from "../../../core/rows/log/events.ts";
import { hasChangedSince, rootAt } from "../../../core/rows/log/state-roots.ts";
import type { Answer } from "../../../core/writer/contract.ts";
import type { LookContext } from "../../../core/writer/operation.ts";
import type { ComputedRoot } from "../../../follow/state-roots.ts";
import { LAST_MOMENT_MS } from "../../../ids.ts";
import { CompactRange } from "../../../log/merkle.ts";
import { leafHash } from "../../../log/state/tree.ts";
import type { OperationInputs } from "../../../operations.ts";
import type { Reader } from "../../../store/transaction.ts";
import { nextTurn } from "../../../timer.ts";

type Input = OperationInputs["state.compute"];

/** Answers with a {@link ComputedRoot}. */
export async function computeState(reader: Reader, context: LookContext, input: Input): Promise<Answer> {
  return { kind: "json", status: 200, body: JSON.stringify(await computed(reader, context, input)) };
}

async function computed(reader: Reader, { apart, nowMs }: LookContext, input: Input): Promise<ComputedRoot> {
  const { periodMs, unchangedThrough } = input;
  const newest = await rootAt(reader, LAST_MOMENT_MS);
  if (newest !== null && Math.floor(newest.timeMs / periodMs) >= Math.floor(nowMs / periodMs))
    return { is: "recorded" };
  if (newest !== null) {
    const through = await headOf(reader);
    const isChanged = await hasChangedSince(reader, Math.max(newest.seq, unchangedThrough));
    if (!isChanged) return { is: "unchanged", through };
  }
  // One state of the file, so that nothing that ends meanwhile is missed.
  const found = await apart(readRoot);
  if (newest !== null && found.root === newest.root && found.count === newest.count)
    return { is: "unchanged", through: found.seq };
  return { is: "root", ...found };
}

async function readRoot(reader: Reader) {
  const [seq = 0, timeMs = 0] =
    (await reader.get<[number, number]>("SELECT seq, time FROM events WHERE seq = (SELECT seq FROM head)")) ?? [];
  const tree = new CompactRange();
  for await (const leaves of presentLeaves(reader, timeMs)) {
    for (const leaf of leaves) tree.append(leafHash(leaf));
    await nextTurn();
  }
  return { seq, root: tree.root().toHex(), count: tree.end };
}
