/** What went wrong, as the API describes it, and what policies found in a refused text. */
import type { ComponentChildren } from "preact";
import { contentPolicies } from "../../policy/policies.ts";
import type { ApiProblem } from "../api/problem.ts";
import type { Finding } from "../api/types.ts";

interface Props {
  problem: ApiProblem | null;
  /** What can be done about it. */
  children?: ComponentChildren;
}

export function Problem({ problem, children }: Props) {
  if (problem === null) return null;
  const { findings } = problem;
  return (
    <div class="callout callout-bad" role="alert">
      <p>
        <strong>{problem.title}.</strong> {problem.message}
      </p>
      {findings.length > 0 && <Findings findings={findings} />}
      {problem.requestId !== null && (
        <p class="faint small">
          Request <code>{problem.requestId}</code> · {problem.code}
        </p>
      )}
      {children !== undefined && <div class="row">{children}</div>}
    </div>
  );
}

const FORBIDDEN: ReadonlyMap<string, string> = new Map(contentPolicies().map(([name, { forbids }]) => [name, forbids]));

/** Returns a detector's name as words: `payment_card` is "payment card". */
const detectorWords = (detector: string): string => detector.replaceAll("_", " ");

/** Returns where a finding is: "value, characters 15 to 31". */
function whereWords({ field, start, end }: Finding): string {
  const place = field.startsWith("metadata.") ? field : `the ${field}`;
  return end - start === 1 ? `in ${place}, character ${start + 1}` : `in ${place}, characters ${start + 1} to ${end}`;
}

/** What was found and where. A finding never holds the matched text. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul class="findings">
      {findings.map((finding) => (
        <li key={`${finding.field}:${finding.start}:${finding.end}:${finding.detector}`}>
          <strong>{detectorWords(finding.detector)}</strong> {whereWords(finding)}
          <span class="faint"> · {FORBIDDEN.get(finding.policy) ?? finding.policy}</span>
        </li>
      ))}
    </ul>
  );
}

/** Text with its findings marked. Only for text that the user typed on this page. */
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
