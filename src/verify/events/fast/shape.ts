/**
 * The shape of an event: all members except numbers, id, time and hashes, which many events of an agent have in common.
 * An event that has the bytes of a known shape, and whose other members are well-formed, is canonical and need not be
 * parsed.
 */

import { Bytes, copy, same } from "../../../log/bytes.ts";
import { effectKind } from "../../../log/effects.ts";
import type { AuditEventBody } from "../../../log/event.ts";
import { formsFor } from "../../../log/event.ts";
import { isErasable } from "../details.ts";
import { KnownDetails } from "./known-details.ts";
import { HASH_CHARS, ID_CHARS, TIME_CHARS } from "./text-forms.ts";

/** The members of a shape. */
const SHAPED = ["actor", "agent_id", "blocked_by", "config_version", "operation", "result", "workspace_id"] as const;
type Shaped = Pick<AuditEventBody, (typeof SHAPED)[number]>;

/** The pieces of text between the parts that differ from event to event. */
class Pieces {
  readonly bytes: Bytes;
  readonly starts: readonly number[];
  readonly lengths: readonly number[];

  constructor(texts: readonly string[]) {
    this.bytes = Bytes.of(texts.join(""));
    this.lengths = texts.map((text) => text.length);
    this.starts = this.lengths.map((_, index) => this.lengths.slice(0, index).reduce((a, b) => a + b, 0));
  }

  /** Returns the position after piece `index` if it is at `at` of a text; otherwise -1. */
  endAt(index: number, text: Bytes, at: number): number {
    const length = this.lengths[index] as number;
    return same(text, at, this.bytes, this.starts[index] as number, length) ? at + length : -1;
  }
}

export class Shape {
  /** The text of the last accepted event of this shape, and a text in which the next one is built. */
  draft: Draft | null = null;
  spare: Draft | null = null;
  /** The pieces between agent_seq, details_commitment, id, previous_hash, seq and timestamp in the canonical text. */
  readonly canonical: Pieces;
  /** The pieces between seq, agent_seq and timestamp in an export. */
  readonly shown: Pieces;

  /** Whether the details of such events can be erased. */
  readonly erasable: boolean;
  /** The kind of effect of such events. */
  readonly effect: ReturnType<typeof effectKind>;
  /** The details of such events. */
  readonly details: KnownDetails;

  /** @param event an event that was parsed, so that its members are well-formed */
  constructor(readonly event: Shaped) {
    const { actor, agent_id, blocked_by, config_version, operation, result, workspace_id } = event;
    this.effect = effectKind(operation, result);
    this.erasable = isErasable(operation);
    this.details = new KnownDetails(formsFor(event, null), { actor, agentId: agent_id });
    this.canonical = new Pieces([
      `{"actor":"${actor}","agent_id":${quoted(agent_id)},"agent_seq":`,
      `,"blocked_by":${quoted(blocked_by)},"config_version":${quoted(config_version)},"details_commitment":"`,
      `","format":"governd.audit/1","id":"aud_`,
      `","operation":"${operation}","previous_hash":"`,
      `","result":"${result}","seq":`,
      `,"timestamp":"`,
      `","workspace_id":"${workspace_id}"}`,
    ]);
    this.shown = new Pieces([
      `,"workspace_id":"${workspace_id}","agent_id":${quoted(agent_id)},"agent_seq":`,
      `,"operation":"${operation}","result":"${result}","blocked_by":${quoted(blocked_by)}` +
        `,"actor":"${actor}","config_version":${quoted(config_version)},"timestamp":"`,
    ]);
  }

  /** Whether an event has this shape. */
  fits(event: Shaped): boolean {
    return SHAPED.every((member) => this.event[member] === event[member]);
  }
}

function quoted(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

/** The canonical text of an event of a known shape, built in place. Only the parts that differ are written. */
export class Draft {
  /** The text after a zero byte, with which the hashed text of an event begins. */
  readonly bytes: Bytes;
  readonly agentSeqAt: number;
  readonly commitmentAt: number;
  readonly idAt: number;
  readonly linkAt: number;
  readonly seqAt: number;
  readonly timeAt: number;

  /** @param agentSeqDigits @param seqDigits the lengths of the numbers */
  constructor(
    shape: Shape,
    readonly agentSeqDigits: number,
    readonly seqDigits: number,
  ) {
    const { bytes, starts, lengths } = shape.canonical;
    const gaps = [agentSeqDigits, HASH_CHARS, ID_CHARS, HASH_CHARS, seqDigits, TIME_CHARS, 0];
    const total = bytes.u8.length + gaps.reduce((a, b) => a + b, 0);
    this.bytes = new Bytes(new Uint8Array(1 + total));
    const places: number[] = [];
    let at = 1;
    for (const [index, gap] of gaps.entries()) {
      copy(this.bytes, at, bytes, starts[index] as number, lengths[index] as number);
      at += lengths[index] as number;
      places.push(at);
      at += gap;
    }
    [this.agentSeqAt = 0, this.commitmentAt = 0, this.idAt = 0, this.linkAt = 0, this.seqAt = 0, this.timeAt = 0] =
      places;
  }
}
