/** An operator's own patterns, in RE2 syntax: their time is linear in the text, whatever the pattern. */
import type { RE2JS, RE2Set } from "re2js";
import type { PatternSetting } from "./screening.ts";

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

/** Returns why a regular expression cannot be used; null when it can. */
export function regexProblem(regex: string): string | null {
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

export class PatternSet {
  readonly #all: RE2Set;
  readonly #single: readonly RE2JS[];

  constructor(
    private readonly patterns: readonly OwnPattern[],
    private readonly clock = WORK_CLOCK,
  ) {
    const { RE2JS, RE2Set } = engine();
    const sources = patterns.map(({ regex, ignore_case: ignoreCase }) => (ignoreCase ? `(?i)${regex}` : regex));
    this.#all = new RE2Set();
    for (const source of sources) this.#all.add(source);
    this.#all.compile();
    this.#single = sources.map((source) => RE2JS.compile(source));
  }

  /**
   * Returns the matches of the patterns that `applies` accepts, at most `most`. `isComplete` is false when there may be
   * more, because there are too many or the search takes too long. Empty matches are ignored.
   */
  find(text: string, applies: (pattern: PatternSetting) => boolean, most: number) {
    const matches: PatternMatch[] = [];
    const found = this.#all.match(text);
    if (found.length === 0) return { matches, isComplete: true };
    const mostMs = FREE_MS + (MS_PER_KIBI * text.length) / 1024;
    const [began, worked] = [this.clock.elapsed(), this.clock.worked()];
    // Processor time counts too, so that the decision does not depend on how busy the machine is.
    const isOver = () => this.clock.elapsed() - began > mostMs && this.clock.worked() - worked > mostMs;
    for (const index of found) {
      const pattern = this.patterns[index] as OwnPattern;
      if (!applies(pattern)) continue;
      const matcher = (this.#single[index] as RE2JS).matcher(text);
      while (matcher.find()) {
        const [start, end] = [matcher.start(), matcher.end()];
        if (end > start) matches.push({ pattern, start, end });
        if (matches.length >= most || isOver()) return { matches, isComplete: false };
      }
    }
    return { matches, isComplete: true };
  }
}
