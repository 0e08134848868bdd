/**
 * The words that announce a personal identifier, and how its value is written (words/labels.txt). With its label
 * beside it a value needs no check digit: a mistyped number is still somebody's. A label that is also an ordinary
 * word or abbreviation says so (`ambiguous`) and then the value must have the exact form.
 */
import type { DetectorName } from "../detectors.ts";
import labels from "../words/labels.txt" with { type: "text" };
import { type Section, sectionsOf } from "../words/lists.ts";

/** How a labelled value is written. */
export interface LabelledForm {
  detector: DetectorName;
  words: readonly string[];
  /** Length without separators. */
  min: number;
  max: number;
  /** How many of the characters are digits at least. */
  digits: number;
  /** Exact form of the compact value in capitals, where one country's is meant. */
  form?: RegExp;
  /** The words mean other things too: the form is required, and nothing may stand between. */
  ambiguous?: boolean;
}

const HEADING = /^(\w+) length=(\d+)(?:-(\d+))? digits=(\d+)( ambiguous)?(?: form=(\S+))?$/;

function formOf({ heading, lines }: Section): LabelledForm {
  const match = HEADING.exec(heading);
  if (match === null) throw new Error(`no heading of a label: ${heading}`);
  const [, detector, min, max = min, digits, ambiguous, form] = match;
  return {
    detector: detector as DetectorName,
    words: lines,
    min: Number(min),
    max: Number(max),
    digits: Number(digits),
    ...(form === undefined ? {} : { form: new RegExp(form) }),
    ...(ambiguous === undefined ? {} : { ambiguous: true }),
  };
}

let forms: readonly LabelledForm[] | undefined;

/** Every section of the file; read when the first table is built. */
export function labelledForms(): readonly LabelledForm[] {
  forms ??= sectionsOf(labels).map(formOf);
  return forms;
}
