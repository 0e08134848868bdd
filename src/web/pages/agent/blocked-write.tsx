/** A write that the policies refused: the detectors, and the places in the text that was not stored. */
import type { WriteResult } from "../../api/types.ts";
import { Findings, Marked, policyName } from "../../ui/parts.tsx";

export type Blocked = Extract<WriteResult, { allowed: false }>;

interface Props {
  result: Blocked;
  entryKey: string;
  value: string;
}

/** Says why nothing was stored. The texts are those that the user typed, or looks at. */
export function BlockedWrite({ result, entryKey, value }: Props) {
  const inField = (field: string) => result.findings.filter((finding) => finding.field === field);
  return (
    <div class="callout tone-bad" role="alert">
      <p>
        <strong>Blocked by {policyName(result.blocked_by)}.</strong> {result.message}
      </p>
      <Findings findings={result.findings} />
      {inField("key").length > 0 && <Marked text={entryKey} findings={inField("key")} />}
      {inField("value").length > 0 && <Marked text={value} findings={inField("value")} />}
    </div>
  );
}
