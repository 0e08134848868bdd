/** Actions on many agents at once: first shown for each agent, then performed, with the result for each. */
import { useState } from "preact/hooks";
import { isCode, orNull, segment, type WorkspaceApi } from "../../api/client.ts";
import { type ApiProblem, asProblem, badInput } from "../../api/problem.ts";
import type { Agent, ConfigVersion, DeletedOrErased, JsonObject } from "../../api/types.ts";
import { eachOf } from "../../state/each.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Check, Form, Select, TextField, useFields } from "../../ui/field.tsx";
import { Badge } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { counted } from "../../ui/numbers.ts";
import { Problem, Show } from "../../ui/parts.tsx";
import { countBelow } from "../agent/below.ts";
import { ApplyDialog } from "../policies/apply.tsx";

/** The action on one agent, and its result. */
interface Target {
  agentId: string;
  /** What would happen, in words. */
  plan: string;
  /** Performs the action and returns the result in words; null when nothing would happen. */
  act: (() => Promise<string>) | null;
  outcome: { done: string } | { problem: ApiProblem } | null;
}

/** Looks at an agent and returns the action on it. */
type Plan = (api: WorkspaceApi, agentId: string) => Promise<Pick<Target, "plan" | "act">>;

interface BulkProps {
  agents: readonly string[];
  /** Called when something was done. */
  onDone(): void;
}

/** The buttons for the agents that are chosen. */
export function BulkActions({ agents, onDone }: BulkProps) {
  const props = { agents, onDone };
  return (
    <section class="bulk row" aria-label="The chosen agents">
      <strong>{counted(agents.length, "agent")} chosen</strong>
      <DialogButton small dialog={<Switch {...props} act="suspend" />}>
        Suspend …
      </DialogButton>
      <DialogButton small dialog={<Switch {...props} act="resume" />}>
        Resume …
      </DialogButton>
      <DialogButton small dialog={<CopyPolicies {...props} />}>
        Policies …
      </DialogButton>
      <DialogButton small kind="danger-quiet" dialog={<DeleteData {...props} />}>
        Delete data …
      </DialogButton>
    </section>
  );
}

function Switch({ act, ...props }: BulkProps & { act: "suspend" | "resume" }) {
  const { field, filled } = useFields({ reason: "" });
  const [plan, setPlan] = useState<Plan | null>(null);
  const isSuspend = act === "suspend";
  const planOf: Plan = async (api, agentId) => {
    const path = `/v1/agents/${segment(agentId)}`;
    const { state, entries } = await api.ask<Agent>(path);
    if ((state === "suspended") === isSuspend) return { plan: `is ${state} already`, act: null };
    return {
      plan: isSuspend
        ? `active, ${counted(entries, "entry", "entries")}: all its requests will be refused`
        : "suspended: its requests are allowed again",
      act: async () => `is ${(await api.ask<Agent>(`${path}/${act}`, { body: filled })).state}`,
    };
  };
  const verb = isSuspend ? "Suspend" : "Resume";
  return (
    <Dialog title={`${verb} ${counted(props.agents.length, "agent")}`} wide>
      {plan === null ? (
        <Form onSubmit={async () => setPlan(() => planOf)} submit="Preview">
          <TextField label="Reason" hint="Optional; the audit log keeps it for each agent." {...field("reason")} />
        </Form>
      ) : (
        <Preview {...props} plan={plan} verb={verb} isDanger={isSuspend} onBack={() => setPlan(null)} />
      )}
    </Dialog>
  );
}

function DeleteData(props: BulkProps) {
  const { field, values } = useFields({ prefix: "" });
  const [first, setFirst] = useState(true);
  const [plan, setPlan] = useState<Plan | null>(null);
  const { prefix } = values;
  const planOf: Plan = async (api, agentId) => {
    const { entries, names } = await countBelow(api, agentId, prefix);
    if (entries === 0) return { plan: "has no such entry", act: null };
    const query = { agent_id: agentId, prefix, confirm_count: entries };
    return {
      plan: `${counted(entries, "entry", "entries")}: ${names.join(", ")}${entries > names.length ? ", …" : ""}`,
      act: async () => {
        if (first) await api.ask("/v1/checkpoints", { body: { agent_id: agentId, label: "before a deletion" } });
        const { deleted } = await api.ask<DeletedOrErased>("/v1/data/prefix", { method: "DELETE", query });
        return `${counted(deleted, "entry is", "entries are")} deleted`;
      },
    };
  };
  const preview = async () => {
    if (prefix === "") throw badInput("prefix", "Say what the keys begin with.");
    setPlan(() => planOf);
  };
  return (
    <Dialog title={`Delete data of ${counted(props.agents.length, "agent")}`} wide>
      {plan === null ? (
        <Form onSubmit={preview} submit="Preview">
          <TextField
            label="Keys that begin with"
            hint="Such as customers/42/. Only these entries are deleted."
            {...field("prefix")}
            spellcheck={false}
          />
          <Check
            label="Make a checkpoint of each agent first"
            hint="So that you can go back."
            checked={first}
            onChecked={setFirst}
          />
        </Form>
      ) : (
        <Preview {...props} plan={plan} verb="Delete data of" isDanger onBack={() => setPlan(null)} />
      )}
    </Dialog>
  );
}

/** Puts the policies of one agent, or parts of them, into the configurations of the chosen ones. */
function CopyPolicies({ agents }: BulkProps) {
  const { api } = useAccess();
  const { field, values } = useFields({ from: agents[0] ?? "" });
  const [policies, setPolicies] = useState<JsonObject | null>(null);
  const next = async () => {
    const path = `/v1/config/${segment(values.from)}`;
    const config = await orNull("config_not_found", api.ask<ConfigVersion>(path));
    const found = (config?.config.policies ?? {}) as JsonObject;
    if (Object.keys(found).length === 0) throw badInput("from", "This agent has no policies of its own.");
    setPolicies(found);
  };
  if (policies !== null) return <ApplyDialog policies={policies} first={agents} />;
  return (
    <Dialog title={`Policies of ${counted(agents.length, "agent")}`}>
      <Form onSubmit={next} submit="Choose what to copy">
        <p>
          The policies of one agent, or parts of them, are put into the configurations of the others. You choose the
          parts and see each change before it is saved.
        </p>
        <Select label="From" {...field("from")} options={agents.map((id) => [id, id] as const)} />
      </Form>
    </Dialog>
  );
}

interface PreviewProps extends BulkProps {
  plan: Plan;
  verb: string;
  isDanger: boolean;
  onBack(): void;
}

function Preview({ agents, plan, onDone, ...props }: PreviewProps) {
  const { api } = useAccess();
  const targets = useLoad<Target[]>("preview", async () => {
    const found: Target[] = [];
    await eachOf(agents, async (agentId, at) => {
      found[at] = { agentId, outcome: null, ...(await plan(api, agentId)) };
    });
    return found;
  });
  return (
    <Show of={targets}>
      {(items) => (
        <Targets
          {...props}
          targets={items}
          onTargets={(next) => targets.set(() => next)}
          onAgain={targets.reload}
          onDone={onDone}
        />
      )}
    </Show>
  );
}

interface TargetsProps extends Omit<PreviewProps, "plan" | "agents"> {
  targets: readonly Target[];
  onTargets(targets: Target[]): void;
  /** Looks at all agents again, after some failed. */
  onAgain(): void;
}

function Targets({ targets, onTargets, onAgain, verb, isDanger, onBack, onDone }: TargetsProps) {
  const close = useClose();
  const due = targets.filter(({ act, outcome }) => act !== null && outcome === null);
  const hasFailed = targets.some(({ outcome }) => outcome !== null && "problem" in outcome);
  const isBegun = targets.some(({ outcome }) => outcome !== null);
  const run = useAction(async () => {
    const next = [...targets];
    await eachOf(targets, async (target, at) => {
      if (!due.includes(target)) return;
      next[at] = { ...target, outcome: await outcomeOf(target) };
      onTargets([...next]);
    });
    onDone();
  });
  return (
    <div class="stack">
      <ul class="changes">
        {targets.map((target) => (
          <li key={target.agentId} class="bulk-row">
            <strong>{target.agentId}</strong> <span class="faint">{target.plan}</span> <Outcome target={target} />
            {target.outcome !== null && "problem" in target.outcome && <Problem problem={target.outcome.problem} />}
          </li>
        ))}
      </ul>
      <div class="row row-end">
        {!isBegun && <Button onClick={onBack}>Back</Button>}
        {due.length > 0 && (
          <Button kind={isDanger ? "danger" : "primary"} action={run}>
            {`${verb} ${counted(due.length, "agent")}`}
          </Button>
        )}
        {hasFailed && <Button onClick={onAgain}>Look again</Button>}
        {(isBegun || due.length === 0) && <Button onClick={close}>Done</Button>}
      </div>
    </div>
  );
}

async function outcomeOf({ act }: Target): Promise<Target["outcome"]> {
  try {
    return { done: (await act?.()) ?? "" };
  } catch (error) {
    return { problem: asProblem(error) };
  }
}

function Outcome({ target: { act, outcome } }: { target: Target }) {
  if (outcome === null) return act === null ? <Badge>stays as it is</Badge> : null;
  if ("done" in outcome) return <Badge tone="good">{outcome.done}</Badge>;
  const isLate = isCode(outcome.problem, "version_conflict") || isCode(outcome.problem, "count_mismatch");
  return <Badge tone="bad">{isLate ? "changed in the meantime, not done" : "not done"}</Badge>;
}
