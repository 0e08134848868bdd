/** One pass over a text: the automaton finds the anchors, and detectors run only there. */
import type { Hit } from "./finding.ts";
import { type Anchor, secretAnchors } from "./secrets/anchors.ts";
import { Automaton } from "./text/automaton.ts";

/** Findings of one policy after which the rest of the text is not looked at: the write is blocked already. */
export const MOST_HITS = 64;
/** Anchors that any text may have checked. */
const FREE_CHECKS = 4096;
/** Beyond those, one check for this many code units, so that the work stays linear. */
const UNITS_PER_CHECK = 12;

interface Dictionary {
  automaton: Automaton;
  anchors: readonly Anchor[];
}

let dictionary: Dictionary | undefined;

function theDictionary(): Dictionary {
  if (!dictionary) {
    const anchors = secretAnchors();
    dictionary = { automaton: new Automaton(anchors.map((anchor) => anchor.word)), anchors };
  }
  return dictionary;
}

/** Findings in `text`, in its own offsets. */
export function scan(text: string): Hit[] {
  const { automaton, anchors } = theDictionary();
  const { classOf, next, classes, accepting, output, lengths } = automaton;
  const hits: Hit[] = [];
  let budget = FREE_CHECKS + text.length / UNITS_PER_CHECK;
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    state = next[state * classes + (classOf[text.charCodeAt(at)] as number)] as number;
    if (accepting[state] === 0) continue;
    for (const id of output[state] as readonly number[]) {
      if (budget-- <= 0) {
        hits.push({ policy: "block_secrets", detector: "budget", start: 0, end: text.length });
        return hits;
      }
      const end = at + 1;
      const hit = (anchors[id] as Anchor).check(text, end - (lengths[id] as number), end);
      if (hit) {
        hits.push(hit);
        if (hits.length >= MOST_HITS) return hits;
      }
    }
  }
  return hits;
}
