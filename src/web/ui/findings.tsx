/** What a policy objected to: which detector, and where. The matched text is nowhere to be had. */
import type { Finding } from "../api/types.ts";

const POLICY_WORDS: Record<string, string> = {
  block_pii: "personal data",
  block_secrets: "secret",
};

/** A detector's name as words: `payment_card` is "payment card". */
export const detectorWords = (detector: string): string => detector.replaceAll("_", " ");

/** Where a finding is: "value, characters 15 to 31". */
export function whereWords({ field, start, end }: Finding): string {
  const place = field.startsWith("metadata.") ? field : `the ${field}`;
  return end - start === 1
    ? `in ${place}, character ${start + 1}`
    : `in ${place}, characters ${start + 1} to ${end}`;
}

export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul class="findings">
      {findings.map((finding) => (
        <li key={`${finding.field}:${finding.start}:${finding.end}:${finding.detector}`}>
          <strong>{detectorWords(finding.detector)}</strong> {whereWords(finding)}
          <span class="faint"> · {POLICY_WORDS[finding.policy] ?? finding.policy}</span>
        </li>
      ))}
    </ul>
  );
}

/** Text with what was found in it marked. Only for text that the user typed on this page. */
export function Marked({ text, findings }: { text: string; findings: readonly Finding[] }) {
  const parts = [];
  let at = 0;
  for (const { start, end, detector } of [...findings].sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    parts.push(text.slice(at, start));
    parts.push(
      <mark key={start} title={detectorWords(detector)}>
        {text.slice(start, end)}
      </mark>,
    );
    at = end;
  }
  parts.push(text.slice(at));
  return <pre class="marked">{parts}</pre>;
}
