/** Checks the time stamps (RFC 3161) of seals that were compared with a log, by the authorities that an auditor trusts. */
import type { Certificate } from "pkijs";
import { orNull } from "../failure.ts";
import type { NoteSignature } from "../log/note.ts";
import type { Seal } from "../log/seal.ts";
import { stampedText, timestampLines } from "../log/timestamp.ts";
import { TimestampError, TimestampToken } from "../log/timestamp-token.ts";
import { doubt, type SourceResult, withProblem } from "./report.ts";
import type { SourceReport } from "./report-schema.ts";

type Timestamp = NonNullable<SourceReport["timestamps"]>[number];

/** Adds to each result which time stamps its seals have, or why none counts. */
export async function checkTimestamps(results: SourceResult[], trusted: readonly Certificate[]): Promise<void> {
  for (const [index, result] of results.entries()) {
    const found: Timestamp[] = [];
    const reasons: string[] = [];
    let isWrong = false;
    for (const seal of result.stamped ?? []) {
      for (const line of timestampLines(seal)) {
        const said = await judged(seal, line, trusted);
        if (said === "wrong") isWrong = true;
        else if (typeof said === "string") reasons.push(`${line.name}: ${said}`);
        else found.push(said);
      }
    }
    result.report.timestamps = newestOfEach(found);
    if (isWrong) results[index] = withProblem(result, { code: "seal_signature", seq: null, id: null, message: WRONG });
    else if (found.length === 0) doubt(result, "timestamp_missing", [NONE, ...new Set(reasons)].join("; "));
  }
}

const WRONG = "a time stamp of a given authority is not over its seal, or its signature is not right";
const NONE = "no seal of this log has a time stamp of a given authority";

/** Returns what a token proves, `wrong` when it contradicts its seal, or why it does not count. */
async function judged(
  seal: Seal,
  { signature }: NoteSignature,
  trusted: readonly Certificate[],
): Promise<Timestamp | string> {
  const token = orNull(TimestampError, () => TimestampToken.read(signature));
  if (token === null) return "it cannot be read";
  const why = await token.whyNotFrom(trusted);
  if (why !== null) return why;
  if (!(await token.covers(stampedText(seal)))) return "wrong";
  return { name: token.authority, through: seal.size - 1, time: token.time.toISOString() };
}

function newestOfEach(found: readonly Timestamp[]): Timestamp[] {
  const newest = new Map<string, Timestamp>();
  for (const one of found) if (one.through >= (newest.get(one.name)?.through ?? 0)) newest.set(one.name, one);
  return [...newest.values()];
}
