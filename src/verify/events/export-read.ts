/** Verifies a json or ndjson export as it arrives, with one event in memory at a time. */

import type { JsonObject } from "../../json.ts";
import { VOCABULARY } from "../../log/event.ts";
import type { ExportHeader, ExportTrailer } from "../../log/export-schema.ts";
import { ExportMalformed, NewerExport } from "../../log/export-schema.ts";
import { RepeatedMember } from "../../log/json-scan.ts";
import { parseRendered } from "../../log/present.ts";
import { type Completeness, exportCompleteness } from "../completeness.ts";
import type { Trust } from "../trust.ts";
import type { VerificationReport } from "./contract.ts";
import { checkExportClaims } from "./export-check.ts";
import { addShownText, type ExportTarget, unreadable } from "./export-lines.ts";
import { ExportReader } from "./export-reader.ts";
import { LogVerifier } from "./log-verifier.ts";
import type { Segment } from "./segment.ts";

/** The result of verifying an export. */
export interface ExportReport extends VerificationReport {
  /** The header of the export; null when it could not be read. */
  header: ExportHeader | null;
  /** The vocabulary that the export states. */
  vocabulary: number;
  /** Whether it is of a later format. */
  isNewer: boolean;
  /** Why nothing, or nothing more, can be established (not an export, incomplete); null otherwise. */
  undetermined: string | null;
  /** Whether the export omits events of its scope. */
  completeness: Completeness;
}

const CUT_OFF = "the given seal cannot be compared with an export that is not whole";

/** To be fed with {@link push} as the file is read, then {@link finish} once. Neither throws for bad input. */
export class ExportVerifier implements ExportTarget {
  readonly #reader = new ExportReader(this);
  #verifier: LogVerifier | null = null;
  #undetermined: string | null = null;
  #isNewer = false;
  /** Whether reading stopped at something that the format does not allow. */
  #malformed = false;
  header: ExportHeader | null = null;
  trailer: ExportTrailer | null = null;
  scope: "workspace" | "agent" = "workspace";
  vocabulary: number | undefined;

  constructor(private readonly trust: Trust = {}) {}

  /** Events read so far; for progress. */
  get eventsChecked(): number {
    return this.#verifier?.eventsChecked ?? 0;
  }

  /** The form of the export; null before its first line was read. */
  get form(): "json" | "ndjson" | null {
    return this.#reader.form;
  }

  /** Adds the next bytes of the file. */
  push(bytes: Uint8Array): void {
    this.#guard(() => this.#reader.push(bytes));
  }

  /** Returns the result; to be called after the last bytes. */
  finish(): ExportReport {
    this.#guard(() => this.#reader.end());
    const { header, trailer } = this;
    const verifier = this.#verifier ?? this.#newVerifier();
    const complete = this.#undetermined === null && !this.#malformed;
    const erasures = trailer?.erasures ?? header?.erasures;
    if (header !== null && complete && !verifier.isOpaque)
      checkExportClaims(verifier, header, this.form ?? "json", erasures);
    // Nothing can be said about the seals of a truncated export, since their events may be in the missing part.
    else for (const _ of verifier.seals?.takeAnchors() ?? []) verifier.seals?.cannotTell(CUT_OFF);
    const report = verifier.finish({
      ...(header && { workspaceId: header.workspace_id, agentId: header.agent_id }),
      ...(header && complete && { eventCounts: [header.event_count, (trailer ?? header).event_count] }),
      ...(trailer && !verifier.isOpaque && { head: trailer.head }),
      endsEarly: !complete,
    });
    const completeness = exportCompleteness(header, report, this.#undetermined);
    // An export without events states its workspace only in the export's event.
    const workspaceId = report.workspaceId ?? (header !== null && complete ? header.workspace_id : null);
    const vocabulary = header?.vocabulary ?? this.vocabulary ?? VOCABULARY;
    return {
      ...report,
      workspaceId,
      header,
      vocabulary,
      isNewer: this.#isNewer,
      undetermined: this.#undetermined,
      completeness,
    };
  }

  trailing(): void {
    this.#report("something follows the end of the export");
  }

  #report(message: string): void {
    this.#verifier ??= this.#newVerifier();
    this.#verifier.report("event_malformed", null, null, message);
  }

  event(text: string, value: JsonObject, line: boolean): void {
    this.#verifier ??= this.#newVerifier();
    addShownText(this.#verifier, text, value, line);
  }

  /** Appends a part of the export that was verified by itself (export-lines.ts). */
  append(segment: Segment): void {
    this.#verifier?.append(segment);
    this.#reader.skipPart();
  }

  /** Whether a part may follow: the last bytes ended an event, and the next bytes begin another. */
  get mayAppend(): boolean {
    return this.#undetermined === null && this.#verifier !== null && this.#reader.atEvent;
  }

  ownLine(text: string, lead: string): boolean {
    const event = parseRendered(text, lead);
    if (event === null) return false;
    this.#verifier ??= this.#newVerifier();
    this.#verifier.add([event]);
    return true;
  }

  #newVerifier(): LogVerifier {
    const { publicKeys: trusted = [], anchors = [], witnesses = [] } = this.trust;
    const seals = { trusted, offered: [], witnesses };
    const verifier = new LogVerifier({
      scope: this.scope,
      start: "anywhere",
      seals,
      ...(this.vocabulary !== undefined && { vocabulary: this.vocabulary }),
    });
    for (const anchor of anchors) verifier.seals?.anchor(anchor);
    return verifier;
  }

  /** Runs a step unless reading has stopped. Stores the reason if the step stops it. */
  #guard(step: () => void): void {
    if (this.#undetermined !== null || this.#malformed) return;
    try {
      step();
    } catch (error) {
      if (error instanceof ExportMalformed || (error instanceof RepeatedMember && this.#reader.isExport)) {
        this.#malformed = true;
        this.#report(error.message);
        return;
      }
      this.#undetermined = unreadable(error);
      this.#isNewer = error instanceof NewerExport;
    }
  }
}
