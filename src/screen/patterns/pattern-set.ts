/** An operator's own patterns, in RE2 syntax: their time is linear in the text, whatever the pattern. */
import type { RE2JS, RE2Set } from "re2js";
import type { PatternSetting } from "../screening.ts";
import { regexSize } from "./size.ts";

/** A pattern, and the index of its settings among the settings that are in force together. */
export type OwnPattern = PatternSetting & { layer: number };

/** One match. Offsets are UTF-16 code units, `end` exclusive. */
interface PatternMatch {
  pattern: OwnPattern;
  start: number;
  end: number;
}

/** The engine is loaded with the first pattern: most daemons have none. */
const engine = (): typeof import("re2js") => require("re2js");

/** The most steps of all expressions of a setting together. Compiling so many takes some milliseconds. */
export const MOST_STEPS = 2_000;

/**
 * Returns why a regular expression cannot be used; null when it can.
 * @param left how many of {@link MOST_STEPS} are left for it
 */
export function regexProblem(regex: string, left = MOST_STEPS): string | null {
  const steps = regexSize(regex);
  if (steps > left)
    return `it has about ${steps} steps, one for each character and again for each repetition, and all patterns together may have ${MOST_STEPS}, of which ${left} are left`;
  const { RE2JS, RE2JSException } = engine();
  try {
    RE2JS.compile(regex);
    return null;
  } catch (error) {
    // The message repeats a part of the expression after the reason, so it is cut there.
    if (error instanceof RE2JSException)
      return error.message.replace("error parsing regexp: ", "").replace(/: `.*/s, "");
    throw error;
  }
}

/** How long this thread may work on the matches of one text, ms: a base, and a share for each 1024 code units. */
const FREE_MS = 50;
const MS_PER_KIBI = 0.5;

/** The clocks for the work on a text, ms. */
interface WorkClock {
  /** Cheap to read, but also counts time in which other programs have the processor. */
  elapsed(): number;
  /** The processor time of this thread. */
  worked(): number;
}

const WORK_CLOCK: WorkClock = {
  elapsed: () => performance.now(),
  worked() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

/** Matching a set of more steps takes longer than matching its patterns one by one. */
const MOST_STEPS_OF_SET = 2_000;

/** The length of the first beginning that is searched, UTF-16 code units, and how much longer each further one is. */
const FIRST_PART = 1024;
const GROWTH = 4;

interface MatchList {
  matches: PatternMatch[];
  isComplete: boolean;
}

export class PatternSet {
  /** Null for patterns that are too large to be matched together. */
  readonly #all: RE2Set | null;
  readonly #single: readonly RE2JS[];
  /** How many steps the patterns have together. What a text costs is at most in proportion to it. */
  readonly steps: number;

  constructor(
    private readonly patterns: readonly OwnPattern[],
    private readonly clock = WORK_CLOCK,
  ) {
    const { RE2JS, RE2Set } = engine();
    const sources = patterns.map(({ regex, ignore_case: ignoreCase }) => (ignoreCase ? `(?i)${regex}` : regex));
    this.#single = sources.map((source) => RE2JS.compile(source));
    this.steps = this.#single.reduce((steps, one) => steps + one.programSize(), 0);
    this.#all = this.steps > MOST_STEPS_OF_SET ? null : new RE2Set();
    for (const source of sources) this.#all?.add(source);
    this.#all?.compile();
  }

  /**
   * Returns the matches of the patterns that `applies` accepts, at most `most`. `isComplete` is false when there may be
   * more, because there are too many or the search takes too long. Empty matches are ignored.
   */
  find(text: string, applies: (pattern: PatternSetting) => boolean, most: number): MatchList {
    const mostMs = FREE_MS + (MS_PER_KIBI * text.length) / 1024;
    const [began, worked] = [this.clock.elapsed(), this.clock.worked()];
    // Processor time counts too, so that the decision does not depend on how busy the machine is.
    const isOver = () => this.clock.elapsed() - began > mostMs && this.clock.worked() - worked > mostMs;
    // The engine cannot be interrupted, so the beginnings of a long text show whether all of it would take too long.
    for (let length = FIRST_PART; length < text.length; length *= GROWTH) {
      const found = this.#findIn(text.slice(0, length), applies, most, isOver);
      if (!found.isComplete || isOver()) return { matches: found.matches, isComplete: false };
    }
    return this.#findIn(text, applies, most, isOver);
  }

  #findIn(text: string, applies: (pattern: PatternSetting) => boolean, most: number, isOver: () => boolean): MatchList {
    const matches: PatternMatch[] = [];
    for (const index of this.#all?.match(text) ?? this.patterns.keys()) {
      const pattern = this.patterns[index] as OwnPattern;
      if (!applies(pattern)) continue;
      const matcher = (this.#single[index] as RE2JS).matcher(text);
      while (matcher.find()) {
        const [start, end] = [matcher.start(), matcher.end()];
        if (end > start) matches.push({ pattern, start, end });
        if (matches.length >= most || isOver()) return { matches, isComplete: false };
      }
      if (isOver()) return { matches, isComplete: false };
    }
    return { matches, isComplete: true };
  }
}
