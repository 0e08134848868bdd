/**
 * Makes the receipt of one event from an export of its workspace, without the log: the export has the leaves of the
 * tree and the subtrees around them, up to its own seal. So receipts can still be made for pruned events.
 */
import { Failure } from "../failure.ts";
import type { JsonObject } from "../json.ts";
import { EventFormatError } from "../log/event.ts";
import type { ExportHeader } from "../log/export-schema.ts";
import { ExportFormatError, ExportMalformed } from "../log/export-schema.ts";
import { CompactRange, coveringSubtrees, foldSubtrees } from "../log/merkle.ts";
import { NoteError, parseVerifierKey } from "../log/note.ts";
import { type ExportedEvent, storedFromPresented } from "../log/present.ts";
import { pathSiblings } from "../log/proof.ts";
import { makeReceipt, parseReceipt, receiptProblem } from "../log/receipt.ts";
import { parseSeal } from "../log/seal.ts";
import { boundOf } from "./events/export-claims.ts";
import { type ExportTarget, unreadable } from "./events/export-lines.ts";
import { ExportReader } from "./events/export-reader.ts";

/** The event for a receipt. */
export type WantedEvent = { id: string } | { seq: number };

/**
 * Returns the receipt of an event in an export of a whole workspace, with or without a window. The receipt ends with
 * the seal of the export.
 *
 * @param open reads the export from its beginning; called twice
 * @param exact whether the receipt holds the exact texts that are hashed (receipt.ts)
 * @throws {Failure} `not_found` when the event is not in the export, `evidence_unreadable` when the export proves
 * nothing
 */
export async function receiptFromExport(
  open: () => AsyncIterable<Uint8Array>,
  wanted: WantedEvent,
  exact = false,
): Promise<string> {
  try {
    const found: JsonObject[] = [];
    let first: number | null = null;
    const header = await readExport(open(), (event) => {
      first ??= Number(event.seq);
      if ("id" in wanted ? event.id === wanted.id : event.seq === wanted.seq) found.push(event);
    });
    if (found[0] === undefined) throw new Failure("not_found", "The export does not hold this event.");
    return await receiptOf(storedFromPresented(found[0]), { open, header, first: first ?? 0 }, exact);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const known =
      error instanceof ExportMalformed || error instanceof NoteError || error instanceof EventFormatError
        ? error.message
        : unreadable(error);
    throw new Failure("evidence_unreadable", `No receipt can be made from this export: ${known}.`, { cause: error });
  }
}

interface ReadExport {
  open: () => AsyncIterable<Uint8Array>;
  header: ExportHeader;
  /** The position of the first exported event. */
  first: number;
}

async function receiptOf(stored: ExportedEvent, { open, header, first }: ReadExport, exact: boolean): Promise<string> {
  if (header.agent_id !== null) {
    throw new ExportFormatError("it is the export of one agent: take one of the whole workspace");
  }
  if (header.seal === null || header.public_key === null) throw new ExportFormatError("it has no seal");
  const seal = parseSeal(header.seal);
  const { seq } = JSON.parse(stored.canonical) as { seq: number };
  if (seq >= seal.size) throw new ExportFormatError("its seal does not cover the event");
  const path = new SealedPath(seq, seal.size);
  const { before, after } = boundOf(header);
  const { proof } = header;
  const around = proof !== null && "before" in proof ? proof : { before: [], after: [] };
  const start = before?.event.seq ?? first;
  path.add(0, start, around.before);
  if (before !== null) path.add(start, start + 1, [before.hash]);
  await readExport(open(), ({ hash }) => path.add(path.end, path.end + 1, [String(hash)]));
  path.add(path.end, path.end + 1, [after.hash]);
  path.add(path.end, seal.size, around.after);
  const keys = header.keys !== undefined ? { keys: header.keys } : {};
  const receipt = makeReceipt(stored, path.hashes(), header.seal, { exact, vocabulary: header.vocabulary, ...keys });
  const problem = receiptProblem(parseReceipt(receipt), parseVerifierKey(header.public_key).publicKey);
  if (problem !== null) throw new ExportFormatError(`${problem}. See what \`governd verify\` says of it`);
  return receipt;
}

/** Computes the inclusion proof of one leaf from all leaves of the tree in order, or from subtrees of them. */
class SealedPath {
  readonly #siblings: { end: number; range: CompactRange }[];
  /** The number of the next leaf. */
  end = 0;

  constructor(index: number, size: number) {
    this.#siblings = pathSiblings(index, size).map(({ start, end }) => ({ end, range: new CompactRange(start) }));
  }

  /** Adds the leaves `start` to `end` (exclusive) by the roots of their subtrees, in hex. */
  add(start: number, end: number, roots: readonly string[]): void {
    const subtrees = coveringSubtrees(start, end);
    if (subtrees.length !== roots.length) throw new ExportFormatError("its proof does not fit its events");
    this.end = start;
    for (const [at, { height }] of subtrees.entries()) {
      const piece = CompactRange.of(this.end, this.end + 2 ** height, [Buffer.from(roots[at] as string, "hex")]);
      this.end = piece.end;
      // Every piece is under a sibling, except the leaf itself.
      this.#siblings.find((one) => one.range.end === piece.start && piece.end <= one.end)?.range.appendRange(piece);
    }
  }

  /** Returns the sibling hashes, from the leaf up. */
  hashes(): Uint8Array[] {
    return this.#siblings.map(({ range }) => foldSubtrees(range.roots));
  }
}

/** Reads an export and returns its header. @throws Error when it is not a complete export */
async function readExport(
  pieces: AsyncIterable<Uint8Array>,
  onEvent: (event: JsonObject) => void,
): Promise<ExportHeader> {
  const target: ExportTarget = {
    header: null,
    trailer: null,
    scope: "workspace",
    vocabulary: undefined,
    event: (_, event) => onEvent(event),
    ownLine: () => false,
    trailing: () => {
      throw new ExportFormatError("something follows the end of the export");
    },
  };
  const reader = new ExportReader(target);
  for await (const piece of pieces) reader.push(piece);
  reader.end();
  return target.header as ExportHeader;
}
