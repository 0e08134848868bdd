/** Patterns of an operator's own, in RE2 syntax: their time is linear in the text, whatever the pattern. */
import type { RE2JS, RE2Set } from "re2js";
import type { PatternSetting } from "./screening.ts";

/** A pattern, and the position of the settings that have it among those in force together. */
export type OwnPattern = PatternSetting & { layer: number };

/** One match. Offsets are UTF-16 code units, `end` exclusive. */
export interface PatternMatch {
  pattern: OwnPattern;
  start: number;
  end: number;
}

/** The engine is loaded with the first pattern: most daemons have none. */
const engine = (): typeof import("re2js") => require("re2js");

/** Returns what is wrong with a regular expression, null when it can be used. */
export function regexProblem(regex: string): string | null {
  const { RE2JS, RE2JSException } = engine();
  try {
    RE2JS.compile(regex);
    return null;
  } catch (error) {
    // Behind the reason, the message repeats a part of the expression.
    if (error instanceof RE2JSException)
      return error.message.replace("error parsing regexp: ", "").replace(/: `.*/s, "");
    throw error;
  }
}

/** The time that looking for the matches of one text may take, ms: so much, and so much for each 1024 code units. */
const FREE_MS = 50;
const MS_PER_KIBI = 0.5;

export class PatternSet {
  readonly #all: RE2Set;
  readonly #single: readonly RE2JS[];

  constructor(private readonly patterns: readonly OwnPattern[]) {
    const { RE2JS, RE2Set } = engine();
    const sources = patterns.map(({ regex, ignore_case: ignoreCase }) => (ignoreCase ? `(?i)${regex}` : regex));
    this.#all = new RE2Set();
    for (const source of sources) this.#all.add(source);
    this.#all.compile();
    this.#single = sources.map((source) => RE2JS.compile(source));
  }

  /**
   * Returns the matches of the patterns that `applies` accepts, at most `most`. `isComplete` is false when there may be
   * more: too many, or looking for them takes too long. An empty match is none.
   */
  find(text: string, applies: (pattern: PatternSetting) => boolean, most: number) {
    const matches: PatternMatch[] = [];
    const until = performance.now() + FREE_MS + (MS_PER_KIBI * text.length) / 1024;
    for (const index of this.#all.match(text)) {
      const pattern = this.patterns[index] as OwnPattern;
      if (!applies(pattern)) continue;
      const matcher = (this.#single[index] as RE2JS).matcher(text);
      while (matcher.find()) {
        const [start, end] = [matcher.start(), matcher.end()];
        if (end > start) matches.push({ pattern, start, end });
        if (matches.length >= most || performance.now() > until) return { matches, isComplete: false };
      }
    }
    return { matches, isComplete: true };
  }
}
