/** The first steps in a workspace, which tick themselves off as they happen. */
import { useState } from "preact/hooks";
import type { Agent, AuditEvent, Page, WorkspacePolicies } from "../../api/types.ts";
import { type Loaded, useEvents, useLoad, useThrottled } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { session, useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock, FirstPrograms } from "../../ui/copy.tsx";
import { curlExample } from "../../ui/examples/examples.ts";
import { Icon } from "../../ui/icon.tsx";
import { Problem } from "../../ui/parts.tsx";

/** Steps are looked for again at most this often. */
const REFRESH_MS = 1_000;

/** A step, and the events that show that it was made. For the step "policy", the policies themselves show it. */
const STEPS = [
  ["write", "An agent writes", { operations: "data.write", result: "allowed" }],
  ["policy", "A policy is in force", null],
  ["block", "A write is blocked", { result: "blocked" }],
  ["checkpoint", "A checkpoint is made", { operations: "checkpoint.create", result: "ok" }],
  ["verify", "The record is verified", { operations: "audit.verify", result: "ok" }],
] as const;

type Step = (typeof STEPS)[number][0];

/** The key under which this browser remembers that somebody no longer needs the steps. */
const storeOf = (workspace: string): string => `governd.begun.${workspace}`;

export function FirstSteps({ agents }: { agents: Loaded<Page<Agent>> }) {
  const { id, canWrite } = useAccess();
  const [isHidden, setHidden] = useState(() => localStorage.getItem(storeOf(id)) !== null);
  if (isHidden || !canWrite) return null;
  const hide = () => {
    localStorage.setItem(storeOf(id), "1");
    setHidden(true);
  };
  return <Steps agents={agents} onHide={hide} />;
}

function Steps({ agents, onHide }: { agents: Loaded<Page<Agent>>; onHide(): void }) {
  const { id, api } = useAccess();
  const [open, setOpen] = useState<Step | null>(null);
  const hasPolicies = agents.data?.data.some(({ policies }) => Object.keys(policies).length > 0) === true;
  const steps = useLoad<ReadonlySet<Step>>(`${id} first steps`, async (signal) => {
    const found = await Promise.all(
      STEPS.map(async ([step, , filter]) => {
        if (filter === null) {
          const { version } = await api.ask<WorkspacePolicies>("/v1/policies", { signal });
          return version === null ? [] : [step];
        }
        const query = { scope: "all", ...filter, limit: 1 };
        const { data } = await api.ask<Page<AuditEvent>>("/v1/audit", { query, signal });
        return data.length === 0 ? [] : [step];
      }),
    );
    return new Set(found.flat());
  });
  const isMade = (step: Step) => steps.data?.has(step) === true || (step === "policy" && hasPolicies);
  const isAll = STEPS.every(([step]) => isMade(step));
  const refresh = useThrottled(() => {
    steps.reload();
    agents.reload();
  }, REFRESH_MS);
  useEvents(() => !isAll && refresh());
  return (
    <section class="begin" aria-label="First steps">
      <ol>
        {STEPS.map(([step, name]) => (
          <li key={step} class={isMade(step) ? "begin-made" : undefined}>
            <button type="button" aria-expanded={open === step} onClick={() => setOpen(open === step ? null : step)}>
              <span class="begin-mark">{isMade(step) && <Icon name="check" />}</span>
              {name}
              <span class="sr-only">{isMade(step) ? ": done" : ": to do"}</span>
            </button>
          </li>
        ))}
      </ol>
      <Button small onClick={onHide}>
        {isAll ? "All done: hide" : "Hide"}
      </Button>
      <Problem problem={steps.problem} />
      {open !== null && (
        <div class="begin-how stack">
          <How step={open} />
        </div>
      )}
    </section>
  );
}

/** How a step is made. */
function How({ step }: { step: Step }) {
  const { id } = useAccess();
  const caFile = session.value.kind === "in" ? session.value.ca_file : null;
  const daemon = { origin: location.origin, caFile };
  if (step === "write") {
    return (
      <>
        <p>
          With an API key of this workspace in the environment (<a href={paths.keys(id)}>make one</a>), each of these
          stores a note:
        </p>
        <FirstPrograms daemon={daemon} />
      </>
    );
  }
  if (step === "policy") {
    return (
      <p>
        <a href={paths.policies(id)}>Policies of the workspace</a> hold for every agent. Begin with reporting, look at
        what is found, then redact or block.
      </p>
    );
  }
  if (step === "block") {
    const value = "My card is 4111 1111 1111 1111.";
    return (
      <>
        <p>Once personal data are blocked, this number, which is nobody's card, is refused:</p>
        <CopyBlock label="Blocked write" text={curlExample(daemon, "$GOVERND_API_KEY", value)} />
      </>
    );
  }
  if (step === "checkpoint") {
    return (
      <p>
        A checkpoint keeps an agent's configuration and data as they are, and copies nothing: choose one of the{" "}
        <a href={paths.agents(id)}>agents</a>, then Checkpoints.
      </p>
    );
  }
  return (
    <p>
      <a href={paths.proof(id)}>Verify the whole workspace</a> here, or offline with <code>governd verify</code>.
    </p>
  );
}
