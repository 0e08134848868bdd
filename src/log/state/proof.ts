/**
 * Proofs of what a workspace held at a moment: one JSON file with the event of a state root, its way to a seal, and a run of
 * neighbouring leaves of the state's tree (docs/audit-format.md, "A proof of what was stored").
 */
import { isUtf8 } from "node:buffer";
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { AGENT_ID_FORM } from "../../agent-id.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { STATE_ROOT } from "../../operations.ts";
import { Count, Hash, only, orNull } from "../../schemas.ts";
import { EventFormatError, parseEvent } from "../event.ts";
import { SALT_FORM, sha256Hex, valueDigest } from "../hash.ts";
import { CanonicalJsonError, canonicalJson } from "../jcs.ts";
import { JsonTextError, parseStrictJson } from "../json-scan.ts";
import { CompactRange } from "../merkle.ts";
import { NoteError } from "../note.ts";
import { genuineDetails, storedFromPresented } from "../present.ts";
import { MAX_PROOF_HASHES, verifyRange } from "../proof.ts";
import type { Receipt } from "../receipt.ts";
import { parseSeal } from "../seal.ts";
import { digestOfProof, PROOF_FORMAT } from "./format.ts";
import { type Subject, sideOf } from "./run.ts";
import { comparePlaces, leafHash, type Place } from "./tree.ts";

/** The longest proof that is read, bytes. */
const MAX_PROOF_BYTES = 256 * 1024 * 1024;

/** The text is not a proof of this format. */
export class ProofError extends Error {
  override readonly name = "ProofError";
}

const AgentId = Type.String({ pattern: `^(?:${AGENT_ID_FORM})$` });
/** More hashes than there are on one side of a run of leaves. */
const Hashes = Type.Array(Hash, { maxItems: 2 * MAX_PROOF_HASHES });
const LEAF = { agent_id: AgentId, key: Type.String(), value_digest: Hash, version: Count };
const Leaf = only(LEAF);
const ValuedLeaf = only({
  ...LEAF,
  salt: Type.String({ pattern: `^${SALT_FORM}$` }),
  value: Type.String(),
  metadata: Type.Unsafe<JsonObject>(Type.Object({})),
});
/** The members of an event are checked when it is read, those of `keys` with the keys. */
const ProofSchema = only({
  format: Type.Literal(PROOF_FORMAT),
  vocabulary: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  workspace_id: Type.String(),
  claim: Type.Union([Type.Literal("held"), Type.Literal("absent"), Type.Literal("complete")]),
  agent_id: AgentId,
  key: orNull(Type.String()),
  prefix: orNull(Type.String({ minLength: 1 })),
  root: Type.Unsafe<JsonObject>(Type.Object({})),
  root_path: Type.Array(Hash, { maxItems: MAX_PROOF_HASHES }),
  seal: Type.String(),
  keys: orNull(Type.Unsafe<JsonValue>(Type.Array(Type.Unknown()))),
  first: Count,
  before: orNull(Leaf),
  entries: Type.Union([Type.Array(Leaf), Type.Array(ValuedLeaf)]),
  after: orNull(Leaf),
  left: Hashes,
  right: Hashes,
  digest: Hash,
});
const form = TypeCompiler.Compile(ProofSchema);

/** A proof as its file has it. */
export type ProofFile = Static<typeof ProofSchema>;

/** A parsed proof. Nothing is verified yet. */
export interface Proof {
  file: ProofFile;
  /** The event of the state root with its way to the seal, which is what a receipt has. */
  sealed: Receipt;
}

/** Parses a proof. @throws ProofError when the bytes are not one, or it has other members */
export function parseProof(bytes: Uint8Array): Proof {
  if (bytes.length > MAX_PROOF_BYTES) throw new ProofError("too long for a proof");
  if (!isUtf8(bytes)) throw new ProofError("it is not UTF-8");
  try {
    const file = parseStrictJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    if (!form.Check(file) || !isAboutOne(file)) throw new ProofError("it does not have exactly the members of a proof");
    const stored = storedFromPresented(file.root);
    const event = parseEvent(stored.canonical);
    const path = bytesOf(file.root_path);
    const { vocabulary, keys } = file;
    return { file, sealed: { stored, event, index: event.seq, path, seal: parseSeal(file.seal), keys, vocabulary } };
  } catch (error) {
    const known = error instanceof EventFormatError || error instanceof JsonTextError || error instanceof NoteError;
    if (known) throw new ProofError(error.message);
    throw error;
  }
}

/** Whether a proof names what its claim is about. */
function isAboutOne({ claim, key, prefix }: ProofFile): boolean {
  if (claim === "held") return key !== null && prefix === null;
  if (claim === "absent") return (key === null) !== (prefix === null);
  return key === null;
}

const subjectOf = ({ agent_id: agentId, key, prefix }: ProofFile): Subject => ({ agentId, key, prefix });

/** What the event of a state root states. */
interface StatedState {
  /** The position of the newest event of the state. */
  seq: number;
  root: string;
  count: number;
}

/** Returns what the event states; null when it is not the event of a state root, or its details are not genuine. */
export function statedState({ sealed: { stored, event } }: Proof): StatedState | null {
  const details = event.operation === STATE_ROOT && event.agent_id === null ? genuineDetails(stored, event) : null;
  if (details === null) return null;
  const { seq, root, count } = details;
  const isStated = typeof seq === "number" && typeof root === "string" && typeof count === "number";
  return isStated ? { seq, root, count } : null;
}

/** Returns why the entries of a proof do not prove what it claims of a state; null when they do. */
export function claimProblem({ file, sealed }: Proof, { root, count }: StatedState): string | null {
  const { claim, first, before, entries, after } = file;
  const { digest, entries: _, ...others } = file;
  if (digestOfProof(others as JsonObject, sha256Hex(canonicalJson(entries as JsonValue))) !== digest)
    return "the proof is not as it was made: it has another digest";
  if (file.workspace_id !== sealed.event.workspace_id) return "the proof is of another workspace than its event";
  const lines = sealed.seal.note.signatures.map(({ name, keyId }) => `${name} ${keyId}`);
  if (new Set(lines).size < lines.length) return "a signature line of the seal is there twice";
  const subject = subjectOf(file);
  const isIn = (leaf: Place | null, side: string) => leaf === null || sideOf(subject, leaf) === side;
  if (!isIn(before, "before") || !isIn(after, "after") || !entries.every((leaf) => isIn(leaf, "in")))
    return "an entry is not in its place beside what the proof is about";
  const run = runIn(file);
  if (run.some((leaf, at) => at > 0 && comparePlaces(run[at - 1] as Place, leaf) >= 0))
    return "the entries are not in their order";
  if (!entries.every(hasItsDigest)) return "a value is not the one of its digest";
  if (claim === "held") {
    if (run.length !== 1 || entries.length !== 1) return "the proof does not show the one entry that it is about";
  } else {
    if (claim === "absent" && entries.length > 0) return "there is an entry where none is claimed to be";
    if (before === null && first > 0) return "the entry before those that the proof is about is missing";
    if (after === null && first + run.length < count)
      return "the entry behind those that the proof is about is missing";
  }
  return isInTree(file, { root, count }) ? null : "the entries are not those of the state root";
}

/** Returns the neighbouring leaves that a proof shows. */
const runIn = ({ before, entries, after }: ProofFile) => [
  ...(before === null ? [] : [before]),
  ...entries,
  ...(after === null ? [] : [after]),
];

function isInTree(file: ProofFile, { root, count }: { root: string; count: number }): boolean {
  const run = new CompactRange(file.first);
  for (const leaf of runIn(file)) run.append(leafHash(leaf));
  const around = { before: bytesOf(file.left), after: bytesOf(file.right) };
  return verifyRange(run, { size: count, root: Uint8Array.fromHex(root) }, around);
}

const bytesOf = (hashes: readonly string[]) => hashes.map((hash) => Uint8Array.fromHex(hash));

function hasItsDigest(leaf: ProofFile["entries"][number]): boolean {
  if (!("value" in leaf)) return true;
  try {
    const digest = valueDigest(leaf.salt, leaf.key, canonicalJson(leaf.metadata), canonicalJson(leaf.value));
    return digest === leaf.value_digest;
  } catch (error) {
    if (error instanceof CanonicalJsonError) return false;
    throw error;
  }
}

/** Whether a proof has the values of its entries. */
export const hasValues = ({ entries }: ProofFile): boolean => entries.some((leaf) => "value" in leaf);
