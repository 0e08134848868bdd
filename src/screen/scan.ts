/**
 * One pass over a text. The automaton finds the anchors and the loop finds the tokens that hold digits;
 * detectors run only there, and each reads a bounded piece of the text, so the whole scan is linear.
 */

import type { Anchor } from "./anchor.ts";
import { everyAnchor } from "./anchors.ts";
import { type Hit, isExhausted, spend } from "./check.ts";
import { BUDGET, DETECTORS, type DetectorName } from "./detectors.ts";
import { restOfList } from "./list/rest.ts";
import type { IsNear } from "./near.ts";
import { digitRun, SHORTEST_TRACK, track } from "./pii/digits.ts";
import { ipv6, macAddress } from "./pii/network.ts";
import { letterPair, tokenIdentifier } from "./pii/tokens.ts";
import { isAlphanumeric, isLower } from "./text/ascii.ts";
import { Automaton } from "./text/automaton.ts";

/** The most blocking findings in one text. The rest of the text is not screened, since the write is already blocked. */
const MOST_BLOCKING = 64;
/** The most findings of any kind in one text. A text with more is treated like a text that costs too much. */
export const MOST_HITS = 2048;
/** The cost of an anchor before its detector has done anything, units. */
const ANCHOR_UNITS = 5;
/** The cost of a token with a digit, units. */
const TOKEN_UNITS = 8;
/** What a code unit costs in a scan that looks only near some places, units. In the first scan of a text it is free. */
const CODE_UNIT_UNITS = 1;

const DIGIT = 1;
const LETTER = 2;
const KIND = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 48 && code <= 57) return DIGIT;
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) ? LETTER : 0;
});

/** The anchors of all detectors, and the automaton that finds them. */
interface AnchorTable {
  automaton: Automaton;
  anchors: readonly Anchor[];
  /** The detector of each anchor. */
  detectors: readonly DetectorName[];
  /** The first and last code unit of each anchor that must match letter for letter; 0 for other anchors. */
  first: Uint16Array;
  last: Uint16Array;
  /** Where the word of each anchor cannot stand: see {@link Anchor.bounds}. */
  bounds: Uint8Array;
}

const BOUNDED_AT_END = 1;
const BOUNDED = 2;
const boundsOf = ({ bounds }: Anchor): number =>
  bounds === undefined ? 0 : bounds === "end" ? BOUNDED_AT_END : BOUNDED;

/** The "s" of a plural. */
const PLURAL = 115;

/** Reports whether a word at `[start, end)` is a part of a longer one, as far as {@link Anchor.bounds} tells. */
function isOutOfBounds(bounds: number, text: string, start: number, end: number): boolean {
  if (bounds === 0) return false;
  const after = text.charCodeAt(end);
  if (isLower(after) && after !== PLURAL) return true;
  return bounds === BOUNDED && isAlphanumeric(text.charCodeAt(start - 1));
}

/** The tables with which the detectors of some policies scan. */
export interface Dictionary extends AnchorTable {
  /** 1 for each anchor of an active detector, 0 for the others. */
  isLooking: Uint8Array;
  /** Whether any of the detectors recognizes tokens by their form alone, and whether all of those that do are active. */
  readsTokens: boolean;
  readsAllTokens: boolean;
  /** The active detectors, and those of them that block. A check may find something for another detector. */
  looking: ReadonlySet<string>;
  blocking: ReadonlySet<string>;
  /** Keys, and names and values of metadata, in which nothing was found. */
  clean: CleanTexts;
}

/** The longest text that is remembered, and the most texts. */
const LONGEST_CLEAN = 128;
const MOST_CLEAN = 4_000;
/** The most values of one name in metadata. A name with more probably has a new one in every write, such as a time. */
const MOST_VALUES = 32;

/**
 * Texts without findings, by the context in which they were screened. They are remembered because the same keys are read
 * repeatedly, and an agent's metadata has the same few names, and often the same values, in most writes.
 */
class CleanTexts {
  readonly #texts = new Map<string, Set<string>>();
  /** The number of texts in all contexts. */
  #count = 0;

  has(text: string, context: string): boolean {
    return text.length <= LONGEST_CLEAN && this.#texts.get(context)?.has(text) === true;
  }

  /** Adds a text that is not there, unless its context has many. */
  add(text: string, context: string): void {
    const hasMany = context !== "" && (this.#texts.get(context)?.size ?? 0) >= MOST_VALUES;
    if (hasMany || text.length > LONGEST_CLEAN) return;
    if (this.#count === MOST_CLEAN) {
      this.#texts.clear();
      this.#count = 0;
    }
    this.#count++;
    this.#texts.getOrInsertComputed(context, () => new Set()).add(text);
  }
}

let table: AnchorTable | null = null;

/** Returns the table for all dictionaries. It has several megabytes, and building it takes 40 to 100 ms. */
function anchorTable(): AnchorTable {
  table ??= buildTable(everyAnchor());
  return table;
}

function buildTable(named: readonly (readonly [DetectorName, Anchor])[]): AnchorTable {
  const anchors = named.map(([, anchor]) => anchor);
  const unit = (at: number) =>
    Uint16Array.from(anchors, ({ word, exact }) => (exact ? word.charCodeAt(at < 0 ? word.length - 1 : at) : 0));
  return {
    automaton: new Automaton(anchors.map((anchor) => anchor.word)),
    anchors,
    detectors: named.map(([detector]) => detector),
    first: unit(0),
    last: unit(-1),
    bounds: Uint8Array.from(anchors, boundsOf),
  };
}

const TOKEN_READERS = (Object.keys(DETECTORS) as DetectorName[]).filter((name) => DETECTORS[name].readsTokens);

/** Returns the dictionary of these detectors. The first call takes as long as {@link anchorTable}. */
export function dictionaryFor(looking: ReadonlySet<DetectorName>, blocking: ReadonlySet<DetectorName>): Dictionary {
  const all = anchorTable();
  return {
    ...all,
    isLooking: Uint8Array.from(all.detectors, (name) => (looking.has(name) ? 1 : 0)),
    readsTokens: [...looking].some((name) => DETECTORS[name].readsTokens),
    readsAllTokens: TOKEN_READERS.every((name) => looking.has(name)),
    looking,
    blocking,
    clean: new CleanTexts(),
  };
}

/** Reports whether enough was found in a text, so that the rest need not be read. */
export function isEnough(hits: Hit[], { looking, blocking }: Dictionary, length: number): boolean {
  if (hits.length < MOST_BLOCKING) return false;
  if (looking.size === blocking.size) return true;
  // Counted now and then, since each count reads all of them.
  if (hits.length % MOST_BLOCKING === 0) {
    if (hits.filter(({ detector }) => blocking.has(detector)).length >= MOST_BLOCKING) return true;
  }
  if (hits.length < MOST_HITS) return false;
  hits.push({ detector: BUDGET, start: 0, end: length });
  return true;
}

/** A run of letters and digits this long may be encoded text. */
const LONG_TOKEN = 12;
/** Shorter runs with digits, side by side, are groups of encoded text when they have at least this many characters. */
const FEWEST_GROUPED = 16;
/** The widest gap between two groups: joiners, or a byte without digits. */
const WIDEST_GAP = 4;

/** Collects positions at which encoded text may begin. */
export class EncodedCandidates {
  /** The beginnings of tokens, ascending. */
  readonly starts: number[] = [];
  #start = 0;
  #end = 0;
  #grouped = 0;

  /** Takes the next token that has a digit or is long. */
  add(start: number, end: number): void {
    const length = end - start;
    if (length >= LONG_TOKEN) this.starts.push(start);
    else if ((length & 1) === 0) this.#group(start, end);
  }

  #group(start: number, end: number): void {
    if (start - this.#end > WIDEST_GAP) this.#grouped = 0;
    if (this.#grouped === 0) this.#start = start;
    const grouped = this.#grouped + end - start;
    if (grouped >= FEWEST_GROUPED && this.#grouped < FEWEST_GROUPED) this.starts.push(this.#start);
    this.#grouped = grouped;
    this.#end = end;
  }
}

/**
 * Returns what the detectors of a dictionary find in `text`, in the text's own offsets. Adds the tokens that may be
 * encoded text to `candidates`, if given. With `isNear`, only anchors that end where it holds are looked at; it is
 * called with ascending ends.
 */
export function scan(
  text: string,
  dictionary: Dictionary,
  candidates?: EncodedCandidates,
  isNear: IsNear = null,
): Hit[] {
  const { automaton, anchors, isLooking, first, last, bounds, readsTokens, looking } = dictionary;
  const { classOf, next, classes, output, lengths, firstAccepting } = automaton;
  const hits: Hit[] = [];
  if (isNear !== null) spend(text.length * CODE_UNIT_UNITS);
  if (isExhausted()) return exhausted(hits, text.length);
  // A token inside what an earlier one began is not looked at, also if that is for a detector which is off. Only when
  // none is off, the tokens far away are known to be nothing.
  const isTokenNear = dictionary.readsAllTokens ? isNear : null;
  let state = 0;
  let tokenStart = -1;
  let tokenKinds = 0;
  let checkedTo = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    const kind = code < 128 ? (KIND[code] as number) : 0;
    if (kind !== 0) {
      if (tokenStart < 0) {
        tokenStart = at;
        tokenKinds = 0;
      }
      tokenKinds |= kind;
    } else if (tokenStart >= 0) {
      if (candidates && (tokenKinds !== LETTER || at - tokenStart >= LONG_TOKEN)) candidates.add(tokenStart, at);
      if (readsTokens && tokenStart >= checkedTo && (isTokenNear === null || isTokenNear(at))) {
        const plainWord = tokenKinds === LETTER && at - tokenStart > LONGEST_SHORT_WORD;
        spend(tokenKinds === LETTER ? 1 : TOKEN_UNITS);
        const hit = plainWord ? null : tokenHit(text, tokenStart, at, tokenKinds);
        if (hit) {
          checkedTo = hit.end;
          if (looking.has(hit.detector)) hits.push(hit);
          if (isEnough(hits, dictionary, text.length)) return hits;
        }
        if (isExhausted()) return exhausted(hits, text.length);
      }
      tokenStart = -1;
    }
    state = next[state * classes + (classOf[code] as number)] as number;
    if (state < firstAccepting) continue;
    for (const id of output[state] as readonly number[]) {
      if (isLooking[id] === 0) continue;
      const end = at + 1;
      const start = end - (lengths[id] as number);
      if (isOutOfBounds(bounds[id] as number, text, start, end)) continue;
      const exact = first[id] as number;
      if (exact === 0 ? !automaton.confirms(id, text, end) : code !== last[id] || text.charCodeAt(start) !== exact)
        continue;
      if (isNear !== null && !isNear(end)) continue;
      spend(ANCHOR_UNITS);
      if (isExhausted()) return exhausted(hits, text.length);
      const { check, isLabel } = anchors[id] as Anchor;
      const hit = check(text, start, end);
      if (hit && looking.has(hit.detector)) {
        hits.push(hit);
        if (isLabel && hit.start >= end) for (const other of restOfList(text, start, end, hit)) hits.push(other);
        if (isEnough(hits, dictionary, text.length)) return hits;
      }
    }
  }
  return hits;
}

/**
 * Returns a finding that blocks the text, which cannot be screened in time. No ordinary text has so many places to
 * check.
 */
function exhausted(hits: Hit[], length: number): Hit[] {
  hits.push({ detector: BUDGET, start: 0, end: length });
  return hits;
}

/** A run of letters alone can be something only when it is not longer: a part of an address, two letters. */
const LONGEST_SHORT_WORD = 4;

/** Recognizes the run of letters and digits `[start, end)` by its form alone. */
function tokenHit(text: string, start: number, end: number, kinds: number): Hit | null {
  const length = end - start;
  const joiner = text[end];
  if (joiner === ":" && length <= LONGEST_SHORT_WORD) {
    const hit = ipv6(text, start);
    if (hit) return hit;
  }
  if ((length === 2 && (joiner === ":" || joiner === "-")) || (length === 4 && joiner === ".")) {
    const hit = macAddress(text, start);
    if (hit) return hit;
  }
  if (kinds === LETTER) return length === 2 && joiner === " " ? letterPair(text, start, end) : null;
  const swiped = length >= SHORTEST_TRACK ? track(text, start) : null;
  return swiped ?? (kinds === DIGIT ? digitRun(text, start, end) : tokenIdentifier(text, start, end));
}
