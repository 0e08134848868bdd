/** Evidence: whatever is changed in it, its readers neither fail nor say that the changed evidence is valid. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSealFile } from "../../src/core/seals/seal-file.ts";
import {
  formatNote,
  formatVerifierKey,
  hexId,
  NoteError,
  parseNote,
  parseVerifierKey,
  SIGNATURE_COSIGNATURE_V1,
  verifierKey,
} from "../../src/log/note.ts";
import { verifyInclusion } from "../../src/log/proof.ts";
import { parseReceipt, ReceiptError, receiptProblem } from "../../src/log/receipt.ts";
import { checkSeal, parseSeal } from "../../src/log/seal.ts";
import { timestampLines } from "../../src/log/timestamp.ts";
import { readAuthorities, TimestampError, TimestampToken, tokenIn } from "../../src/log/timestamp-token.ts";
import { addCheckpointBody, cosignedAt, parseWitnessKey } from "../../src/log/witness.ts";
import { type ExportReport, ExportVerifier } from "../../src/verify/events/export-read.ts";
import { PolicyError, parsePolicy } from "../../src/verify/policy.ts";
import { lackOf } from "../../src/verify/quorum.ts";
import { verifyConsistency } from "../log/consistency.ts";
import { parseAddCheckpoint } from "../log/cosigning.ts";
import type { Seeded } from "../seeded.ts";
import { mutateBytes, mutateText, pieces } from "./mutate.ts";
import { attempt, requireEqual, type Target } from "./target.ts";

const vector = (name: string): string => readFileSync(join(import.meta.dir, "../vectors", name), "utf8");

const EXPORTS = [
  "export.json",
  "export.ndjson",
  "agent.ndjson",
  "sealed.ndjson",
  "sealed-window.json",
  "sealed-agent.json",
].map(vector);
const { publicKey } = parseVerifierKey(vector("seal.vkey").trim());

function verify(parts: Iterable<Uint8Array>): ExportReport {
  const verifier = new ExportVerifier({ publicKeys: [publicKey] });
  for (const part of parts) verifier.push(part);
  return verifier.finish();
}

/** The events that an export shows, whichever form it has. */
function eventsOf(text: string): unknown[] {
  if (!text.includes('"type":"header"')) return (JSON.parse(text) as { events: unknown[] }).events;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => JSON.parse(line) as { type: string }).filter(({ type }) => type === "event");
}

/** Every event goes the thorough way: the quick one takes only lines in this format's own form. */
const spaced = (bytes: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(bytes).toString("latin1").replaceAll("\n{", "\n {").replaceAll("\n  {", "\n   {"), "latin1");

/** What a report says, apart from the wording about what is no export at all. */
const said = ({ undetermined, problems, eventsChecked, header, agents }: ExportReport) => ({
  isReadable: undetermined === null,
  problems,
  eventsChecked,
  header,
  agents,
});

function exported(random: Seeded): void {
  const original = random.pick(EXPORTS);
  const bytes = mutateBytes(random, original);
  const report = verify([bytes]);
  requireEqual("the chunks do not matter", said(verify(pieces(random, bytes))), said(report));
  requireEqual("the quick way says what the thorough one says", said(verify([spaced(bytes)])), said(report));
  if (!report.valid || report.undetermined !== null) return;
  requireEqual(
    "what is valid is unchanged",
    withoutErased(Buffer.from(bytes).toString(), original),
    eventsOf(original),
  );
}

/** Details may be erased from a log at any time; the mutations can do that, too. */
function withoutErased(text: string, original: string): unknown[] {
  const before = eventsOf(original) as { details: unknown }[];
  return (eventsOf(text) as { details: unknown }[]).map((event, index) =>
    event.details === null ? (before[index] as unknown) : event,
  );
}

const NOTES = ["seal.txt", "seals.txt", "cosigned.txt", "stamped.txt"].map(vector);

function notes(random: Seeded): void {
  const original = random.pick(NOTES);
  const text = mutateText(random, original);
  const note = attempt(() => parseNote(text), NoteError);
  if (note !== undefined) requireEqual("a note's own form", formatNote(note), text);
  const seal = attempt(() => parseSeal(text), NoteError);
  if (seal !== undefined) {
    const { text: signed } = seal.note;
    if (checkSeal(seal, publicKey) === "good")
      requireEqual("signed by the key", vector("seals.txt").includes(signed), true);
  }
  attempt(() => parseSealFile(text), NoteError);
  const key = mutateText(random, vector("seal.vkey").trim());
  const parsed = attempt(() => parseVerifierKey(key), NoteError);
  if (parsed !== undefined) requireEqual("a key's own form", formatVerifierKey(parsed), key);
  const witness = attempt(() => parseWitnessKey(mutateText(random, vector("witness.vkey").trim())), NoteError);
  if (seal !== undefined && witness !== undefined) attempt(() => cosignedAt(seal, witness), NoteError);
  const path = Array.from({ length: random.below(4) }, () => random.bytes(32));
  const asked = mutateText(random, addCheckpointBody(random.below(9), path, original));
  const request = attempt(() => parseAddCheckpoint(asked), NoteError);
  if (request !== undefined) {
    const { oldSize, proof, seal: submitted } = request;
    requireEqual("a request's own form", addCheckpointBody(oldSize, proof, formatNote(submitted.note)), asked);
  }
}

function receipts(random: Seeded): void {
  const original = vector("receipt.txt");
  const lines = original.split("\n");
  // The event is inside base64: it is changed there, too.
  if (random.chance(0.5)) {
    const event = Buffer.from((lines[1] as string).slice("extra ".length), "base64").toString();
    lines[1] = `extra ${Buffer.from(mutateBytes(random, event)).toString("base64")}`;
  }
  const text = random.chance(0.5) ? lines.join("\n") : mutateText(random, lines.join("\n"));
  const receipt = attempt(() => parseReceipt(text), ReceiptError);
  if (receipt === undefined || receiptProblem(receipt, publicKey) !== null) return;
  const genuine = parseReceipt(original);
  requireEqual("the event that is proved", receipt.event, genuine.event);
  if (receipt.stored.details !== null) requireEqual("its details", receipt.stored.details, genuine.stored.details);
}

interface Tree {
  leaves: string[];
  roots: string[];
  inclusion: { index: number; size: number; path: string[] }[];
  consistency: { from: number; to: number; path: string[] }[];
}

const tree = JSON.parse(vector("tree.json")) as Tree;
const bytesOf = (hex: string): Uint8Array => Buffer.from(hex, "hex");

/** A proof with one thing changed. */
function changedPath(random: Seeded, path: readonly Uint8Array[]): Uint8Array[] {
  const changed: Uint8Array[] = path.map((hash) => Uint8Array.from(hash));
  const at = random.below(changed.length + 1);
  if (at === changed.length || random.chance(0.2)) changed.splice(at, 0, random.bytes(32));
  else if (random.chance(0.3)) changed.splice(at, 1);
  else {
    const hash = changed[at] as Uint8Array;
    const place = random.below(32);
    hash[place] = (hash[place] as number) ^ (1 << random.below(8));
  }
  return changed;
}

function proofs(random: Seeded): void {
  const included = random.pick(tree.inclusion);
  const path = included.path.map(bytesOf);
  const head = { size: included.size, root: bytesOf(tree.roots[included.size] as string) };
  const leaf = bytesOf(tree.leaves[included.index] as string);
  requireEqual("inclusion", verifyInclusion(leaf, included.index, head, path), true);
  requireEqual("changed inclusion", verifyInclusion(leaf, included.index, head, changedPath(random, path)), false);
  const other = random.pick([-1, random.below(2 ** 31), random.below(head.size), 2 ** 53]);
  if (other !== included.index) requireEqual("another place", verifyInclusion(leaf, other, head, path), false);
  const { from, to, path: hashes } = random.pick(tree.consistency);
  const [older, newer] = [from, to].map((size) => ({ size, root: bytesOf(tree.roots[size] as string) })) as [
    typeof head,
    typeof head,
  ];
  const between = hashes.map(bytesOf);
  requireEqual("consistency", verifyConsistency(older, newer, between), true);
  requireEqual("changed consistency", verifyConsistency(older, newer, changedPath(random, between)), false);
}

const WITNESSES = ["a", "b", "c"].map((name) => {
  const key = verifierKey(`${name}.example`, new Uint8Array(32).fill(name.charCodeAt(0)), SIGNATURE_COSIGNATURE_V1);
  return `witness ${name} ${formatVerifierKey(key)}`;
});
const POLICY = [`log ${vector("seal.vkey").trim()}`, ...WITNESSES, "group g 2 a b", "group h all g c", "quorum h", ""];

/** Whatever a policy says, nobody is no quorum, and everybody is one. */
function policies(random: Seeded): void {
  const policy = attempt(() => parsePolicy(mutateBytes(random, POLICY.join("\n"))), PolicyError);
  if (policy === undefined || policy.quorum === null) return;
  requireEqual("a quorum of nobody", lackOf(policy.quorum, []) === null, false);
  const all = policy.witnesses.map(({ name, keyId }) => ({ name, key_id: hexId(keyId), through: 0, time: "" }));
  requireEqual("a quorum of everybody", lackOf(policy.quorum, all), null);
}

const STAMPED = timestampLines(parseSeal(vector("stamped.txt")))[0]?.signature ?? new Uint8Array();
const AUTHORITIES = readAuthorities(vector("tsa-root.pem"));
const { time: STAMPED_AT } = TimestampToken.read(STAMPED);

/** What of a time stamp is changed, it never says another time. */
async function timestamps(random: Seeded): Promise<void> {
  const bytes = Uint8Array.from(STAMPED);
  for (let changes = 1 + random.below(3); changes > 0; changes--) bytes[random.below(bytes.length)] = random.below(256);
  attempt(() => tokenIn(bytes), TimestampError);
  const token = attempt(() => TimestampToken.read(bytes), TimestampError);
  if (token === undefined || (await token.whyNotFrom(AUTHORITIES)) !== null) return;
  if (await token.covers(vector("seal.txt"))) requireEqual("its time", token.time, STAMPED_AT);
}

export const EVIDENCE_TARGETS: Record<string, Target> = { exported, notes, receipts, proofs, policies, timestamps };
