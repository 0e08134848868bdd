/**
 * The fast path of the verifier. It accepts valid events by their bytes, and leaves every diagnosis to the plain path
 * (log-verifier.ts). An event can be accepted if it has the shape of an earlier event of its agent. Accepted events are
 * counted here, and the verifier's own state is brought up to date only when it is needed.
 */
import { SHA256 } from "bun";
import { hashOfBytes } from "../../../fnv.ts";
import { Bytes, copy, isHex, isHexOf, readHex, same } from "../../../log/bytes.ts";
import { CanonicalScan } from "../../../log/canonical-scan.ts";
import { type AuditEventBody, formsIn, parseEvent } from "../../../log/event.ts";
import { SALT_BYTES } from "../../../log/hash.ts";
import { mayNameSealKey } from "../../../log/seal.ts";
import { eventFacts } from "../../../operations.ts";
import { isFollowed } from "../premises.ts";
import type { ChainState } from "../segment.ts";
import type { StatedPolicies } from "./known-details.ts";
import { Shape } from "./shape.ts";
import { HASH_CHARS, TimeForm } from "./text-forms.ts";

/**
 * The most shapes that are remembered. Beyond that, all are forgotten and learned again. Each takes a few kilobytes.
 */
const MAX_SHAPES = 8_192;
/** The most shapes of one agent. An agent that alternates between more kinds of events is verified more slowly. */
const MAX_SHAPES_OF_AGENT = 32;

/**
 * Whether events always take the plain path: the verifier reads their details, or their form depends on whether the log
 * is that of the installation.
 */
function isNeverFast(event: AuditEventBody): boolean {
  const { operation } = event;
  if (mayNameSealKey(operation) || eventFacts(operation)?.effect === "erase" || isFollowed(operation)) return true;
  const chains = formsIn(event, null).map(({ chain }) => chain);
  return chains.includes("workspace") && chains.includes("installation");
}

/** The place of the next event. */
export interface EventPosition {
  /** The seq that the event must have; with gaps, the least seq that it may have. */
  seq: number;
  /** Whether there may be gaps, since one agent's chain has only some of the workspace's numbers. */
  gaps: boolean;
}

/** The facts of the current event, which are valid once it is accepted. The next event overwrites them. */
export class Accepted {
  shape: Shape = null as unknown as Shape;
  seq = 0;
  /** The time of the event, ms since the Unix epoch. */
  timeMs = 0;
  /** Whether details and salt are erased. */
  erased = false;
  /** The places of its hash, its link, its commitment, its salt in hex, and its details. */
  hashAt = 0;
  linkAt = 0;
  commitmentAt = 0;
  saltAt = 0;
  detailsAt = 0;
  detailsEnd = 0;
  /** Whether the details have characters beyond ASCII. */
  foreign = false;
  /** The place of its canonical text. */
  start = 0;
  end = 0;
}

/** The state of a chain in a form for fast comparison. */
export class KnownChain {
  shapes: Shape[] = [];
  agentSeq = 0;
  /** The hash of the last event, hex. */
  hash = new Bytes(new Uint8Array(HASH_CHARS));
  /** The number of events accepted since `state` was brought up to date, and the text of the last of them. */
  pending = 0;
  text: string | null = null;
  place: { bytes: Bytes; start: number; end: number } | null = null;

  constructor(public state: ChainState) {}
}

export class KnownChains {
  readonly accepted = new Accepted();
  readonly scan = new CanonicalScan();
  readonly time = new TimeForm();
  /** The version of the workspace's policies that details state. */
  policies: StatedPolicies = null;
  readonly #salt = new Bytes(new Uint8Array(SALT_BYTES));
  readonly #replaced = new Bytes(new Uint8Array(SALT_BYTES));
  readonly #digest = new Uint8Array(SHA256.byteLength);
  readonly #byAgent = new Map<string | null, KnownChain>();
  readonly #byHash = new Map<number, KnownChain>();
  readonly #touched = new Set<KnownChain>();
  #last: KnownChain | null = null;
  #shapes = 0;

  /**
   * Returns a chain by the hash of its agent's id. It may be another agent's, whose events then take the plain path.
   */
  find(hash: number): KnownChain | undefined {
    return this.#byHash.get(hash);
  }

  /**
   * Learns the shape of an event that took the plain path, and the new end of its chain.
   *
   * @param own whether events of its shape may take the fast path, which those of another workspace may not
   */
  learn(state: ChainState, event: AuditEventBody, hash: string, own: boolean): void {
    this.time.learn(event.timestamp);
    const chain = this.#chainOf(state);
    chain.agentSeq = event.agent_seq;
    chain.hash.u8.set(Buffer.from(hash, "latin1"));
    this.#last = null;
    if (!own) return;
    if (isNeverFast(event)) return;
    if (chain.shapes.some((shape) => shape.fits(event))) return;
    chain.shapes.unshift(new Shape(event));
    this.#shapes += 1;
    if (chain.shapes.length <= MAX_SHAPES_OF_AGENT) return;
    chain.shapes.pop();
    this.#shapes -= 1;
  }

  /** Forgets the shapes of a chain, after an event that is wrong, or after which events have other shapes. */
  forgetShapes(agentId: string | null): void {
    const chain = this.#byAgent.get(agentId);
    if (chain === undefined) return;
    this.#shapes -= chain.shapes.length;
    chain.shapes = [];
  }

  /** Brings a chain's state up to date. */
  settle(agentId: string | null): void {
    const chain = this.#byAgent.get(agentId);
    if (chain !== undefined) settleChain(chain);
  }

  /** Brings all chains up to date. */
  settleAll(): void {
    for (const chain of this.#byAgent.values()) settleChain(chain);
  }

  /** The chain of the last accepted event, brought up to date; null when the last event took the plain path. */
  get last(): ChainState | null {
    if (this.#last !== null) settleChain(this.#last);
    return this.#last?.state ?? null;
  }

  /** Copies the needed texts; to be called before the bytes of accepted events are overwritten. */
  keepTexts(): void {
    for (const chain of this.#touched) keepText(chain);
    this.#touched.clear();
  }

  /**
   * Accepts the event whose parts in `text` are in {@link accepted}, if its hash, link and commitment are right. The
   * event then is the new end of its chain, and `leaf` its hash.
   *
   * @param body a text with the event's canonical bytes from `start` to `end`, and a zero byte before them
   * @param shape the number of the event's shape among the chain's
   */
  accept(chain: KnownChain, shape: number, text: Bytes, body: Bytes, start: number, end: number, leaf: Uint8Array) {
    const { accepted } = this;
    if (!same(text, accepted.linkAt, chain.hash, 0, HASH_CHARS)) return false;
    SHA256.hash(body.u8.subarray(start - 1, end), leaf);
    if (!isHexOf(text, accepted.hashAt, leaf) || !this.#isCommitted(text)) return false;
    copy(chain.hash, 0, text, accepted.hashAt, HASH_CHARS);
    accepted.shape = chain.shapes[shape] as Shape;
    if (shape > 0) moveToFront(chain.shapes, shape);
    chain.agentSeq += 1;
    chain.pending += 1;
    if (chain.place === null) {
      chain.place = { bytes: body, start, end };
      this.#touched.add(chain);
    } else {
      chain.place.bytes = body;
      chain.place.start = start;
      chain.place.end = end;
    }
    this.#last = chain;
    accepted.start = start;
    accepted.end = end;
    return true;
  }

  /** Whether the details and the salt match the commitment. */
  #isCommitted(text: Bytes): boolean {
    const { erased, saltAt, commitmentAt, detailsAt, detailsEnd } = this.accepted;
    if (erased) return isHex(text.u8, commitmentAt, HASH_CHARS);
    if (!readHex(text.u8, saltAt, this.#salt.u8, 0, SALT_BYTES)) return false;
    // The salt is written before the details, so that both are hashed as one piece of memory.
    const from = detailsAt - SALT_BYTES;
    copy(this.#replaced, 0, text, from, SALT_BYTES);
    copy(text, from, this.#salt, 0, SALT_BYTES);
    SHA256.hash(text.u8.subarray(from, detailsEnd), this.#digest);
    copy(text, from, this.#replaced, 0, SALT_BYTES);
    return isHexOf(text, commitmentAt, this.#digest);
  }

  #chainOf(state: ChainState): KnownChain {
    const agentId = state.last.event.agent_id;
    const known = this.#byAgent.get(agentId);
    if (known !== undefined) {
      known.state = state;
      return known;
    }
    if (this.#shapes >= MAX_SHAPES) this.#forget();
    const chain = new KnownChain(state);
    this.#byAgent.set(agentId, chain);
    const id = Buffer.from(agentId ?? "", "latin1");
    this.#byHash.set(hashOfBytes(id, 0, id.length), chain);
    return chain;
  }

  #forget(): void {
    this.settleAll();
    this.#touched.clear();
    this.#byAgent.clear();
    this.#byHash.clear();
    this.#shapes = 0;
  }
}

function settleChain(chain: KnownChain): void {
  if (chain.pending === 0) return;
  keepText(chain);
  const event = parseEvent(chain.text as string);
  chain.state.last = { event, hash: Buffer.from(chain.hash.u8).toString("latin1") };
  chain.state.events += chain.pending;
  chain.pending = 0;
  chain.text = null;
}

function keepText(chain: KnownChain): void {
  if (chain.place === null) return;
  const { bytes, start, end } = chain.place;
  chain.text = bytes.ascii(start, end);
  chain.place = null;
}

function moveToFront(shapes: Shape[], index: number): void {
  const shape = shapes[index] as Shape;
  for (let at = index; at > 0; at--) shapes[at] = shapes[at - 1] as Shape;
  shapes[0] = shape;
}

const QUOTE = 0x22;

/** Returns the hash of the agent's id in quotes at `at`; the hash for the workspace itself for anything else. */
export function agentHashAt(text: Uint8Array, at: number, limit: number): number {
  if (text[at] !== QUOTE) return hashOfBytes(text, at, at);
  let end = at + 1;
  while (end < limit && text[end] !== QUOTE) end++;
  return hashOfBytes(text, at + 1, end);
}
