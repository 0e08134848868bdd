/** Proves what was stored at a time: the newest state root of then, and a part of its tree (docs/audit-format.md). */
import { SHA256 } from "bun";
import { isWithin } from "../../../agent-id.ts";
import { itemCount, itemsIn } from "../../../core/lists.ts";
import { eventAt } from "../../../core/rows/log/events.ts";
import { type StoredSeal, sealsOver } from "../../../core/rows/log/seals.ts";
import { oldestRootMs, rootAt, type StoredRoot } from "../../../core/rows/log/state-roots.ts";
import { treeReader } from "../../../core/rows/log/tree.ts";
import {
  answered,
  type Context,
  type LookContext,
  naming,
  type OperationsOf,
  operation,
  refused,
} from "../../../core/writer/operation.ts";
import { showTimeOrNull } from "../../../ids.ts";
import type { JsonObject } from "../../../json.ts";
import { VOCABULARY } from "../../../log/event.ts";
import { presentEvent } from "../../../log/present.ts";
import { inclusionProof } from "../../../log/proof.ts";
import { type Recall, readAt, recallOf } from "../../../log/recall.ts";
import { hexOf } from "../../../log/rows.ts";
import { parseSeal } from "../../../log/seal.ts";
import { digestOfProof, PROOF_FORMAT } from "../../../log/state/format.ts";
import { type Run, runOf, type Subject } from "../../../log/state/run.ts";
import { leafText, rootOfLeaves, type StateLeaf } from "../../../log/state/tree.ts";
import type { OperationInputs } from "../../../operations.ts";
import { invalid, Problem } from "../../../problem.ts";
import { recorded } from "../../../screen/decide.ts";
import type { PolicySettings } from "../../../screen/policies.ts";
import type { Reader } from "../../../store/transaction.ts";
import { nextTurn } from "../../../timer.ts";
import { announcedKeys } from "../announced-keys.ts";
import { contentsOf } from "./contents.ts";

type Input = OperationInputs["proof.create"];

/** The most entries of one proof. */
const MOST_ENTRIES = 100_000;

// Types and not interfaces, so that they are JSON values, which can be passed between threads.
type Proved = {
  /** The entries that the proof is about. */
  items: string[];
  claim: "held" | "absent" | "complete";
  eventSeq: number;
  seq: number;
  /** The digest of the list of these entries, hex. */
  entriesDigest: string;
  /** The members around the entries. */
  around: Omit<Run, "entries">;
  recall: Recall;
};
/** Why there is no proof, and since when there are roots, ms. */
type Gone = { items: string[]; why: keyof typeof GONE; sinceMs: number | null };

const GONE = {
  no_root:
    "No state root is that old: the daemon records one with the first seal of a day or an hour (the setting state_roots).",
  unknown:
    "The log no longer tells which entries there were then, since the writes of some were erased or pruned. Ask for a later time.",
  no_values:
    "The proof can be made, but a value of then is no longer kept, or is set aside: leave out with_values, and the proof has its digest.",
} as const;

async function lookUp(reader: Reader, context: LookContext, input: Input): Promise<Proved | Gone> {
  const { atMs, withValues } = input;
  if (atMs > context.nowMs) throw invalid("at is in the future: send the time of now, or an earlier one.", "at");
  const gone = async (why: Gone["why"]): Promise<Gone> => ({ items: [], why, sinceMs: await oldestRootMs(reader) });
  const root = await rootAt(reader, atMs);
  if (root === null) return gone("no_root");
  const leaves = await leavesOf(reader, root);
  if (leaves === null) return gone("unknown");
  const { first, before, entries, after, left, right } = await runOf(subjectOf(input), leaves, nextTurn);
  requireAllowed(context, [before, after]);
  if (entries.length > MOST_ENTRIES)
    throw invalid(`The proof would have more than ${MOST_ENTRIES} entries: send a prefix of fewer.`, "prefix");
  const contents = withValues
    ? await contentsOf(reader, input.agentId, entries, root.seq, context)
    : new Map<number, string>();
  if (contents === null) return gone("no_values");
  const items = entries.map((leaf) => textOf(leaf, contents.get(leaf.version)));
  return {
    ...{ items, entriesDigest: digestOfList(items), around: { first, before, after, left, right } },
    ...{ claim: claimOf(input, entries.length), eventSeq: root.eventSeq, seq: root.seq },
    recall: withValues ? recallOf(entries.map(({ version }) => version)) : {},
  };
}

/** Returns the leaves of a root; null when the log no longer tells them. */
async function leavesOf(reader: Reader, { seq, root, count }: StoredRoot): Promise<StateLeaf[] | null> {
  // Imported when first needed, since the verifier is half of what a thread would load at its start.
  const { leavesAfter } = await import("../../../verify/state/leaves.ts");
  const timeMs = await reader.value<number>("SELECT time FROM events WHERE seq = ?", [seq]);
  const leaves = timeMs === undefined ? null : await leavesAfter(reader, seq, timeMs, nextTurn);
  if (leaves === null) return null;
  const found = rootOfLeaves(leaves);
  if (found.root === root && found.count === count) return leaves;
  throw new Error("a state root is not the one that the log leaves");
}

const subjectOf = ({ agentId, key, prefix }: Input): Subject => ({ agentId, key: key ?? null, prefix: prefix ?? null });

function claimOf({ key, prefix }: Input, entries: number): Proved["claim"] {
  if (key !== undefined) return entries > 0 ? "held" : "absent";
  return prefix !== undefined && entries === 0 ? "absent" : "complete";
}

/** @throws {Problem} `forbidden` when a neighbouring entry is one of an agent that the key may not see */
function requireAllowed({ principal }: LookContext, neighbours: readonly (StateLeaf | null)[]): void {
  if (neighbours.every((leaf) => leaf === null || isWithin(principal.agents, leaf.agent_id))) return;
  throw new Problem(
    "forbidden",
    "The proof would name an entry of an agent that this key is not for: what is absent is proved by its neighbours. Use a key that is not limited to agents.",
  );
}

/** Returns an entry as canonical JSON. @param content further members, each before a comma */
function textOf(leaf: StateLeaf, content = ""): string {
  const text = leafText(leaf);
  const at = text.lastIndexOf('"value_digest":');
  return `${text.slice(0, at)}${content}${text.slice(at)}`;
}

/** Returns the digest of the canonical list of some items, hex. */
function digestOfList(items: readonly string[]): string {
  const hash = new SHA256().update("[");
  for (const [at, item] of items.entries()) hash.update(at === 0 ? item : `,${item}`);
  return hash.update("]").digest("hex");
}

const NOT_SEALED = "The state root cannot be sealed now. The operator's log says why; try again later.";

/**
 * Returns the seal of a proof: of the first ones over an event, the first one that a witness has cosigned or that has a
 * time stamp, since that says most of when the event was there; otherwise the first one, or one that is made now.
 */
async function sealFor(reader: Reader, context: Context, seq: number): Promise<StoredSeal> {
  const over = await sealsOver(reader, seq);
  const isVouched = ({ note }: StoredSeal) => parseSeal(note).note.signatures.length > 1;
  const seal = over.find(isVouched) ?? over[0] ?? (await context.seal());
  if (seal === null) throw new Problem("seal_not_found", NOT_SEALED);
  return seal;
}

/** Returns what the event says of the request. */
const asked = ({ key, prefix }: Input, policies: PolicySettings): JsonObject => ({
  ...(key !== undefined && recorded("key", key, policies)),
  ...(prefix !== undefined && recorded("prefix", prefix, policies)),
});

const proveState = operation("proof.create", {
  look: lookUp,
  async run(reader, context, input, found) {
    const { agentId, withValues } = input;
    const agent = await context.agents.find(agentId);
    const details = asked(input, context.agents.policiesOf(agent));
    if ("why" in found) {
      const extra = { kept_since: showTimeOrNull(found.sinceMs) };
      const code = "moment_gone";
      const said = naming(agent, agentId, { ...details, code });
      return refused(agent, "not_found", said, { code, detail: GONE[found.why], extra });
    }
    const { items, claim, eventSeq, seq, recall } = found;
    const stored = await eventAt(reader, null, eventSeq);
    if (stored === undefined) throw new Error("the event of a state root is missing");
    const seal = await sealFor(reader, context, eventSeq);
    const root_path = (await inclusionProof(eventSeq, seal.size, treeReader(reader))).map(hexOf);
    const { keys = null } = await announcedKeys(reader, seal.size);
    const members = {
      ...{ format: PROOF_FORMAT, vocabulary: VOCABULARY, workspace_id: context.workspaceId, claim, agent_id: agentId },
      ...{ key: input.key ?? null, prefix: input.prefix ?? null },
      ...{ root: presentEvent(stored), root_path, seal: seal.note, keys, ...found.around },
    };
    const digest = digestOfProof(members as unknown as JsonObject, found.entriesDigest);
    const start = `${JSON.stringify({ ...members, digest }).slice(0, -1)},"entries":[`;
    const said = {
      ...details,
      ...{ claim, root_seq: eventSeq, count: itemCount(items) },
      ...(withValues && { with_values: true, ...recall, ...readAt(seq, context.seq, recall) }),
    };
    return answered(agent, naming(agent, agentId, said), itemsIn(start, items, "]}"));
  },
});

export const stateOperations: OperationsOf<"proof"> = { "proof.create": proveState };
