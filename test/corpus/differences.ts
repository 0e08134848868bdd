/**
 * Where tools/verify.py does not yet say what it must. To be emptied: with GOVERND_TEST_LONG=1, a row that no tampering
 * meets any more fails the test.
 */
import type { Tampering } from "./judge.ts";

export interface Difference {
  /** Of the words `form: kind: to`. */
  what: RegExp;
  /** What governd says, as it must. */
  ours: readonly number[];
  /** What verify.py says instead; -1 when it crashes. */
  theirs: readonly number[];
  why: string;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    what: /^database( with log)?: moved (back )?in time by one: agents.first_seq row 0$/,
    ...{ ours: [1], theirs: [0] },
    why: "the first_seq of the workspace's own chain is not compared in a pruned log",
  },
  {
    what: /^receipt: /,
    ...{ ours: [2], theirs: [1] },
    why: "a receipt that is not in the form of one is called tampered",
  },
  {
    what: /^receipt: blanked: .* leaf$/,
    ...{ ours: [2], theirs: [-1] },
    why: "a leaf that is null ends verify.py with a traceback",
  },
];

/** The known difference that a tampering shows; undefined when there is none. */
export const differenceOf = ({ form, kind, to }: Tampering, ours: number, theirs: number): Difference | undefined =>
  DIFFERENCES.find(
    (one) => one.what.test(`${form}: ${kind}: ${to}`) && one.ours.includes(ours) && one.theirs.includes(theirs),
  );
