/** Puts parts of the policies in the form into the configurations of many agents, each over the version that was shown. */
import { useState } from "preact/hooks";
import { isCode, orNull, segment, type WorkspaceApi } from "../../api/client.ts";
import { type ApiProblem, asProblem } from "../../api/problem.ts";
import type { Agent, ConfigVersion, JsonObject } from "../../api/types.ts";
import { eachOf } from "../../state/each.ts";
import { useAction, useList } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff/diff.tsx";
import { Check } from "../../ui/field.tsx";
import { Badge, PolicyBadges } from "../../ui/inline.tsx";
import { readableJson } from "../../ui/json-text.ts";
import { useClose } from "../../ui/leave.ts";
import { counted } from "../../ui/numbers.ts";
import { Empty, Problem, ShowItems } from "../../ui/parts.tsx";
import { type PolicyPart, partsOf } from "./parts-of.ts";

/** An agent, its policies after the change, and the result. */
interface Target {
  agentId: string;
  base: ConfigVersion | null;
  config: JsonObject;
  outcome: { saved: string } | { problem: ApiProblem } | null;
}

const policiesIn = (config: JsonObject): JsonObject => (config.policies ?? {}) as JsonObject;

const before = ({ base }: Target): string => readableJson(policiesIn(base?.config ?? {}));
const after = ({ config }: Target): string => readableJson(policiesIn(config));
const isDue = (target: Target): boolean => target.outcome === null && before(target) !== after(target);
const hasFailed = ({ outcome }: Target): boolean => outcome !== null && "problem" in outcome;

interface ApplyProps {
  policies: JsonObject;
  /** The agents that are selected initially. */
  first?: readonly string[];
}

export function ApplyDialog({ policies, first = [] }: ApplyProps) {
  const [parts] = useState(() => partsOf(policies));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    () => new Set(parts.filter(({ isOn }) => isOn).map(({ id }) => id)),
  );
  const [agents, setAgents] = useState<ReadonlySet<string>>(new Set(first));
  const [targets, setTargets] = useState<readonly Target[] | null>(null);
  const { api } = useAccess();
  const put = parts.filter(({ id }) => chosen.has(id));
  const preview = useAction(async () => setTargets(await targetsOf(api, [...agents].sort(), put)));
  return (
    <Dialog title="Apply to agents" wide>
      {targets === null ? (
        <div class="stack">
          <PartChoice parts={parts} chosen={chosen} onChosen={setChosen} />
          <AgentChoice chosen={agents} onChosen={setAgents} />
          <Problem problem={preview.problem} />
          <div class="row row-end">
            <Button
              kind="primary"
              onClick={() => preview.run()}
              disabled={preview.busy || agents.size === 0 || put.length === 0}
            >
              {preview.busy ? "Loading …" : `Preview for ${counted(agents.size, "agent")}`}
            </Button>
          </div>
        </div>
      ) : (
        <Preview parts={put} targets={targets} onTargets={setTargets} onBack={() => setTargets(null)} />
      )}
    </Dialog>
  );
}

/** Loads the configurations of agents, and shows them after the change. */
async function targetsOf(api: WorkspaceApi, agents: readonly string[], parts: readonly PolicyPart[]) {
  const targets: Target[] = [];
  await eachOf(agents, async (agentId, at) => {
    const base = await orNull("config_not_found", api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`));
    const config = base?.config ?? {};
    const policies = parts.reduce((into, part) => part.put(into), policiesIn(config));
    targets[at] = { agentId, base, config: { ...config, policies }, outcome: null };
  });
  return targets;
}

interface ChoiceProps {
  chosen: ReadonlySet<string>;
  onChosen(chosen: ReadonlySet<string>): void;
}

const toggled = (set: ReadonlySet<string>, ids: readonly string[], isIn: boolean): ReadonlySet<string> =>
  new Set(isIn ? [...set, ...ids] : [...set].filter((id) => !ids.includes(id)));

function PartChoice({ parts, chosen, onChosen }: ChoiceProps & { parts: readonly PolicyPart[] }) {
  return (
    <fieldset class="choices">
      <legend>What is put into their configurations</legend>
      <p class="faint small">The rest of each configuration stays as it is.</p>
      {parts.map(({ id, label }) => (
        <Check
          key={id}
          label={label}
          checked={chosen.has(id)}
          onChecked={(checked) => onChosen(toggled(chosen, [id], checked))}
        />
      ))}
    </fieldset>
  );
}

function AgentChoice({ chosen, onChosen }: ChoiceProps) {
  const [prefix, setPrefix] = useState("");
  const agents = useList<Agent>("/v1/agents", { prefix });
  const shown = (agents.data ?? []).map(({ agent_id }) => agent_id);
  return (
    <fieldset class="choices">
      <legend>Agents</legend>
      <input
        type="search"
        aria-label="Agents whose id begins with"
        placeholder="Id begins with …"
        value={prefix}
        onInput={(event) => setPrefix(event.currentTarget.value)}
      />
      <ShowItems
        of={agents}
        empty={
          <Empty title="No such agent">
            <p>An agent appears here with its first configuration, write or checkpoint.</p>
          </Empty>
        }
      >
        {(items) => (
          <div class="choice-list">
            <Check
              label={<strong>All shown</strong>}
              checked={shown.every((id) => chosen.has(id))}
              onChecked={(checked) => onChosen(toggled(chosen, shown, checked))}
            />
            {items.map(({ agent_id, policies }) => (
              <Check
                key={agent_id}
                label={agent_id}
                hint={<PolicyBadges policies={policies} />}
                checked={chosen.has(agent_id)}
                onChecked={(checked) => onChosen(toggled(chosen, [agent_id], checked))}
              />
            ))}
          </div>
        )}
      </ShowItems>
    </fieldset>
  );
}

interface PreviewProps {
  parts: readonly PolicyPart[];
  targets: readonly Target[];
  onTargets(targets: readonly Target[]): void;
  onBack(): void;
}

function Preview({ parts, targets, onTargets, onBack }: PreviewProps) {
  const close = useClose();
  const { api } = useAccess();
  const due = targets.filter(isDue);
  const failed = targets.filter(hasFailed);
  const apply = useAction(async () => {
    const next = [...targets];
    await eachOf(targets, async (target, at) => {
      if (!isDue(target)) return;
      next[at] = { ...target, outcome: await saved(api, target) };
      onTargets([...next]);
    });
  });
  const again = useAction(async () => {
    const ids = failed.map(({ agentId }) => agentId);
    const fresh = new Map((await targetsOf(api, ids, parts)).map((target) => [target.agentId, target]));
    onTargets(targets.map((target) => fresh.get(target.agentId) ?? target));
  });
  return (
    <div class="stack">
      <ul class="changes">
        {targets.map((target) => (
          <li key={target.agentId}>
            <details>
              <summary>
                {target.agentId} <Outcome target={target} />
              </summary>
              {hasFailed(target) && <Problem problem={(target.outcome as { problem: ApiProblem }).problem} />}
              <Diff
                before={before(target)}
                after={after(target)}
                beforeName={target.base?.version ?? "No configuration"}
                afterName="Applied"
              />
            </details>
          </li>
        ))}
      </ul>
      <Problem problem={apply.problem ?? again.problem} />
      <div class="row row-end">
        {targets.every(({ outcome }) => outcome === null) && <Button onClick={onBack}>Back</Button>}
        {failed.length > 0 && (
          <Button action={again}>{`Look at ${counted(failed.length, "failed one", "failed ones")} again`}</Button>
        )}
        {due.length > 0 ? (
          <Button kind="primary" action={apply}>
            {`Apply to ${counted(due.length, "agent")}`}
          </Button>
        ) : (
          <Button kind={failed.length > 0 ? "plain" : "primary"} onClick={close}>
            Done
          </Button>
        )}
      </div>
    </div>
  );
}

/** Saves over the version that was shown; if none was shown, only while there is none. */
async function saved(api: WorkspaceApi, { agentId, base, config }: Target): Promise<Target["outcome"]> {
  const condition = base === null ? { "if-none-match": "*" } : { "if-match": `"${base.version}"` };
  try {
    const path = `/v1/config/${segment(agentId)}`;
    const { version } = await api.ask<ConfigVersion>(path, { method: "PUT", body: config, headers: condition });
    return { saved: version };
  } catch (error) {
    return { problem: asProblem(error) };
  }
}

function Outcome({ target }: { target: Target }) {
  const { outcome } = target;
  if (outcome === null) return isDue(target) ? <Badge tone="accent">changes</Badge> : <Badge>stays as it is</Badge>;
  if ("saved" in outcome) return <Badge tone="good">{`saved as ${outcome.saved}`}</Badge>;
  const isConflict = isCode(outcome.problem, "version_conflict");
  return <Badge tone="bad">{isConflict ? "changed in the meantime, not saved" : "not saved"}</Badge>;
}
