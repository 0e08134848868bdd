/** Moments of the log in requests: a time, an event, a checkpoint or a position. */
import type { AsOf, MomentName } from "../operation-facts.ts";
import { textField } from "./fields.ts";
import { component, countOf, shape, Time } from "./shapes.ts";
import { parseTimestamp } from "./timestamp.ts";

const POSITION = /^seq:(0|[1-9][0-9]{0,14})$/;
const EVENT = /^aud_[0-9a-z]{26}$/;
const CHECKPOINT = /^cp_[0-9a-z]{26}$/;

/** Returns the moment that a text names; null when it has none of the forms. */
function parseMoment(text: string): MomentName | null {
  const [, position] = POSITION.exec(text) ?? [];
  if (position !== undefined) return { seq: Number(position) };
  if (EVENT.test(text)) return { auditId: text };
  if (CHECKPOINT.test(text)) return { checkpointId: text };
  const timeMs = parseTimestamp(text, "down");
  return timeMs === null ? null : { timeMs };
}

export const AsOfField = component(
  "AsOf",
  textField(
    "AsOf",
    {
      description:
        "The moment whose state is read: an RFC 3339 time that ends with Z or an offset, an audit id, a checkpoint id, or seq: and a position of the log.",
      examples: ["2026-01-31T08:00:00Z"],
    },
    (text) => parseMoment(text) !== null,
  ),
);

/** The moment in an answer. */
export const AsOfShown = shape(
  "Moment",
  { seq: countOf("The position of the last event before it."), timestamp: Time },
  "The moment whose state was read, when the request names one.",
);

/** Returns the moment of a request as a member of the input. @param text of {@link AsOfField} */
export const asOfIn = (text: string | undefined): AsOf =>
  text === undefined ? {} : { asOf: parseMoment(text) as MomentName };
