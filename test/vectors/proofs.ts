/** Leaves of a state's tree, and proofs of what was stored, of a small log that the product writes. */
import { comparePlaces, leafHash, leafText, rootOfLeaves, type StateLeaf } from "../../src/log/state/tree.ts";
import type { SealingKey } from "../log/sealed.ts";
import { proofOf, recordRoot } from "../support/state-root.ts";
import { WrittenLog } from "./written-log.ts";

/** Leaves in their order: the bytes of UTF-8, and not the units of UTF-16, say which key is first. */
export function leafVectors() {
  const keys = ["a", "a/b", "é", "\uffee", "😀", 'quoted "key"'];
  const leaves = ["beta", "Alpha"].flatMap((agent_id) =>
    keys.map((key, at): StateLeaf => ({ agent_id, key, value_digest: `0${at}`.repeat(32), version: 7 * at })),
  );
  const sorted = leaves.sort(comparePlaces);
  return {
    leaves: sorted.map((leaf) => ({ ...leaf, canonical: leafText(leaf), hash: leafHash(leaf).toHex() })),
    roots: sorted.map((_, size) => rootOfLeaves(sorted.slice(0, size))),
  };
}

/** Every file and its text. */
export const proofVectors = (key: SealingKey): Promise<Record<string, string>> =>
  WrittenLog.make(key, async (log) => {
    const write = (agentId: string, key: string) =>
      log.perform("data.write", { agentId, key, value: `of ${key}`, metadata: { n: 1 } });
    for (const key of ["notes/1", "notes/2", "plan"]) await write("beta", key);
    for (const key of ["notes/1", "ended", "zeal"]) await write("alpha", key);
    await log.perform("data.delete", { agentId: "alpha", key: "ended" });
    log.pass(1000);
    await recordRoot(log);
    await write("beta", "notes/2");
    await log.writer.seal();
    const of = (about: object, withValues = false) =>
      proofOf(log, log.principal, { agentId: "beta", atMs: log.nowMs, withValues, ...about });
    return {
      "proof-held.json": await of({ key: "notes/1" }, true),
      "proof-absent.json": await of({ key: "notes/3" }),
      "proof-absent-prefix.json": await of({ prefix: "zoo/" }),
      "proof-complete.json": await of({}),
      "proof-complete-prefix.json": await of({ prefix: "notes/" }),
    };
  });
