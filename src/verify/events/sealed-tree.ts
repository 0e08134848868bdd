/** The tree over the events that were read, and the seals that are compared with it. */
import type { JsonObject } from "../../json.ts";
import type { AuditEventBody } from "../../log/event.ts";
import { CompactRange, EMPTY_ROOT } from "../../log/merkle.ts";
import { namesSealKey, type Seal } from "../../log/seal.ts";
import type { Problem } from "../problems.ts";
import type { SealAuditOptions, VerifierOptions } from "./contract.ts";
import type { NamedKey } from "./epochs.ts";
import { LeafRun } from "./leaf-run.ts";
import { SealAudit } from "./seal-audit.ts";
import { grown, type PlainRange, plainRange, type Segment } from "./segment.ts";

export class SealedTree {
  readonly audit: SealAudit;
  /** Whether every event is a leaf. The chain of one agent has no tree. */
  readonly #grows: boolean;
  readonly #marks: PlainRange[] = [];
  readonly #keys: Segment["keys"] = [];
  #run: LeafRun | null = null;

  /** @param start the number of the first leaf; null when the first event determines it */
  constructor(
    private readonly options: VerifierOptions,
    seals: SealAuditOptions,
    start: number | null,
    private readonly report: (problem: Problem) => void,
  ) {
    this.audit = new SealAudit(seals, report);
    this.#grows = options.scope === "workspace";
    if (start !== null) this.#run = new LeafRun(start, options.onTile);
  }

  /** The leaves so far; null before the first leaf. */
  get range(): CompactRange | null {
    return this.#run?.range ?? null;
  }

  /** Adds a leaf by its hash in hex. @param seq the number of its event; null when it is not an event */
  append(hash: string, seq: number | null): void {
    if (!this.#grows) return;
    if (this.#run === null) {
      if (seq === null) return; // the start of the run is not known yet
      this.#run = new LeafRun(seq, this.options.onTile);
    }
    this.#run.append(hash);
  }

  /** Compares the seals of the present size, and stores its mark. */
  check(workspaceId: string | null): void {
    const run = this.#run;
    if (run === null) return;
    if (this.#nextMark === run.end) this.#marks.push(plainRange(run.range));
    if (workspaceId === null || run.start !== 0) return;
    this.#checkEmpty(workspaceId);
    if (this.audit.nextSize === run.end) {
      this.audit.reached({ size: run.end, root: run.range.root() }, workspaceId);
    }
  }

  /** Adds stored seals in order, before the events up to their size. */
  expect(seals: readonly Seal[]): void {
    const late = seals.filter(({ size }) => size < (this.#run?.end ?? 0));
    for (const { size } of late) {
      const message = `a stored seal covers ${size} events and stands behind one that covers more`;
      this.report({ code: "seal_invalid", seq: size > 0 ? size - 1 : null, id: null, message });
    }
    this.audit.expect(seals.filter((seal) => !late.includes(seal)));
  }

  /** Adds sealing keys that the next events name. */
  noteKeys(keys: Segment["keys"]): void {
    for (const key of keys) {
      this.#keys.push(key);
      this.audit.nameKey(key);
    }
  }

  /**
   * Adds the leaves of the next segment.
   *
   * @throws RangeError when the segment lacks the mark of a seal
   */
  appendSegment({ tree: next, marks, nextSeq }: Segment, workspaceId: string | null): void {
    const run = this.#run;
    if (run === null) return;
    if (next === null || next.start !== run.end || next.end !== nextSeq) {
      // Events are missing or repeated, which is reported; no later seal can be compared with this tree.
      this.#run = null;
      this.audit.abandon();
      return;
    }
    // A window of the log does not begin at leaf 0, and has no root. The workspace is known from the first event on.
    if (run.start === 0 && workspaceId !== null) {
      this.#checkEmpty(workspaceId);
      while (this.audit.nextSize <= next.end) {
        const size = this.audit.nextSize;
        const part = size === next.end ? next : marks.find(({ end }) => end === size);
        if (part === undefined) throw new RangeError("a segment lacks the mark of a seal");
        this.audit.reached({ size, root: grown(run.range, part).root() }, workspaceId);
      }
    }
    run.appendRange(CompactRange.of(next.start, next.end, next.roots));
  }

  /** Returns the tree's members of a {@link Segment}. */
  toPlain(): Pick<Segment, "tree" | "marks" | "keys"> {
    return { tree: this.#run && plainRange(this.#run.range), marks: this.#marks, keys: this.#keys };
  }

  get #nextMark(): number | undefined {
    return this.options.marks?.[this.#marks.length];
  }

  #checkEmpty(workspaceId: string): void {
    if (this.audit.nextSize === 0) this.audit.reached({ size: 0, root: EMPTY_ROOT }, workspaceId);
  }
}

/** Returns the sealing key that an event names; null when it names none. */
export function namedKey({ operation, seq }: AuditEventBody, details: JsonObject | null): NamedKey | null {
  if (details === null || !namesSealKey(operation)) return null;
  const { signing_key: fingerprint, origin } = details;
  if (typeof fingerprint !== "string") return null;
  return { fingerprint, seq, origin: typeof origin === "string" ? origin : null };
}
