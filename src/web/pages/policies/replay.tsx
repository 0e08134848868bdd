/** The decisions of the form's policies about everything that is stored. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isAbort } from "../../api/client.ts";
import { jsonLines } from "../../api/lines.ts";
import { ifComplete } from "../../api/problem.ts";
import type { ReplayResult } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Badge, MODE_TONES } from "../../ui/inline.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Facts, Problem } from "../../ui/parts.tsx";
import type { Edited } from "./edited.ts";
import { detectorName } from "./words.ts";

interface Progress {
  examined: number;
  total: number;
}

type Line = ({ type: "progress" } & Progress) | ({ type: "result" } & ReplayResult);

export function Replay({ edited }: { edited: Edited }) {
  const { agentId } = edited;
  const { api } = useAccess();
  const [progress, setProgress] = useState<Progress | null>(null);
  const [done, setDone] = useState<{ result: ReplayResult; policies: string } | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const replay = useAction(async () => {
    const policies = edited.policies();
    const stopped = new AbortController();
    running.current = stopped;
    setDone(null);
    setProgress({ examined: 0, total: 0 });
    try {
      const response = await api.send("/v1/policies/replay", {
        body: { policies, ...(agentId !== null && { agent_id: agentId }) },
        headers: { accept: "application/x-ndjson" },
        signal: stopped.signal,
      });
      if (response.body === null) throw new Error("the replay has no answer");
      let result: ReplayResult | null = null;
      for await (const line of jsonLines<Line>(response.body)) {
        if (line.type === "progress") setProgress(line);
        else result = line;
      }
      if (result === null) throw new Error("the replay ended without a result; run it again");
      setDone({ result, policies: JSON.stringify(policies) });
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      setProgress(null);
    }
  });
  return (
    <section class="card stack" aria-label="Replay">
      <div class="section-head">
        <h2>Replay</h2>
        {progress === null ? (
          <Button action={replay}>Replay</Button>
        ) : (
          <Button onClick={() => running.current?.abort()}>Stop</Button>
        )}
      </div>
      <p class="faint small">
        What the policies in the form would decide about every entry{" "}
        {agentId === null ? "of all agents" : "of the agent"}, were it written now. It changes nothing.
      </p>
      {progress !== null && <Bar progress={progress} />}
      <Problem problem={replay.problem} />
      {done !== null && <Result {...done} edited={edited} />}
    </section>
  );
}

function Bar({ progress: { examined, total } }: { progress: Progress }) {
  return (
    <div class="stack" role="status">
      <progress max={Math.max(total, 1)} value={examined} aria-label="Entries examined" />
      <p class="small faint">
        {count(examined)} of {counted(total, "entry", "entries")}
      </p>
    </div>
  );
}

function Result({ result, policies, edited }: { result: ReplayResult; policies: string; edited: Edited }) {
  const { examined, unchanged, would_block, would_redact, would_audit, samples, blocked_before } = result;
  const before = Object.entries(blocked_before).sort(([, a], [, b]) => b - a);
  const found = would_block + would_redact + would_audit;
  return (
    <div class="stack" role="status">
      {ifComplete(() => JSON.stringify(edited.policies())) !== policies && (
        <p class="small faint">The policies in the form have changed since.</p>
      )}
      <Facts
        of={{
          Examined: counted(examined, "entry", "entries"),
          Unchanged: count(unchanged),
          "Would be blocked": <Outcome n={would_block} tone="bad" />,
          "Would be redacted": <Outcome n={would_redact} tone="warn" />,
          "Would be reported": <Outcome n={would_audit} tone="accent" />,
        }}
      />
      {samples.length > 0 && (
        <details class="samples">
          <summary>
            {samples.length < found ? `${samples.length} of ${counted(found, "entry", "entries")}` : "The entries"}
          </summary>
          <Samples samples={samples} agentId={edited.agentId} />
        </details>
      )}
      {before.length > 0 && (
        <p class="small faint">
          Blocked in the past: {before.map(([name, times]) => `${detectorName(name)} ${count(times)}`).join(", ")}.
        </p>
      )}
    </div>
  );
}

function Outcome({ n, tone }: { n: number; tone: "bad" | "warn" | "accent" }) {
  return n === 0 ? <span class="faint">0</span> : <Badge tone={tone}>{count(n)}</Badge>;
}

function Samples({ samples, agentId }: { samples: ReplayResult["samples"]; agentId: string | null }) {
  const { id } = useAccess();
  return (
    <ul class="sample-list">
      {samples.map(({ agent_id, key, findings }) => (
        <li key={`${agent_id} ${key}`}>
          <a href={paths.data(id, agent_id, { key })}>{key}</a>
          {agentId === null && <span class="faint small"> {agent_id}</span>}
          <span class="badges">
            {[...new Map(findings.map((finding) => [finding.detector, finding])).values()].map(({ detector, mode }) => (
              <Badge key={detector} tone={MODE_TONES[mode]}>
                {detectorName(detector)}
              </Badge>
            ))}
          </span>
        </li>
      ))}
    </ul>
  );
}
