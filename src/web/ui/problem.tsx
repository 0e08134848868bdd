/** What went wrong, in the words of the API, with the id under which the daemon's log has more. */
import type { ComponentChildren } from "preact";
import type { ApiProblem } from "../api/problem.ts";
import { Findings } from "./findings.tsx";

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
