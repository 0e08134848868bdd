/** Two states of an agent side by side: any two checkpoints, or one and now. */
import { segment, type WorkspaceApi } from "../../api/client.ts";
import type { Checkpoint, CheckpointWithState, ConfigVersion, EntryItem, StateEntry } from "../../api/types.ts";
import { useList, useLoad } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { Diff } from "../../ui/diff.tsx";
import { Select } from "../../ui/field.tsx";
import { readableJson } from "../../ui/json-text.ts";
import { Empty, Section, Show, ShowItems } from "../../ui/parts.tsx";
import { relativeTime } from "../../ui/text/times.ts";
import { Changes } from "./changes.tsx";
import { checkpointName } from "./checkpoints.tsx";
import { configInForce } from "./config.tsx";
import { compare, liveEntries, type StateDiff } from "./state-diff.ts";

/** How the address calls the present state. */
const NOW = "now";

/** The largest page of the API. */
const PAGE_SIZE = 1_000;

interface State {
  config: ConfigVersion["config"] | null;
  version: string | null;
  entries: readonly (StateEntry | EntryItem)[];
}

export function CompareView({ agentId }: { agentId: string }) {
  const { id, canRead } = useRoom();
  const checkpoints = useList<Checkpoint>("/v1/checkpoints", { agent_id: agentId, limit: PAGE_SIZE });
  if (!canRead) return <Empty title="Auditors see no stored values">{null}</Empty>;
  return (
    <>
      <p class="crumbs small">
        <a href={paths.checkpoints(id, agentId)}>All checkpoints</a>
      </p>
      <ShowItems of={checkpoints} empty={<Empty title="There is no checkpoint to compare">{null}</Empty>}>
        {(items) => <Choice agentId={agentId} items={items} />}
      </ShowItems>
    </>
  );
}

function Choice({ agentId, items }: { agentId: string; items: readonly Checkpoint[] }) {
  const { query } = place.value;
  const from = query.get("from") ?? items[0]?.id ?? NOW;
  const to = query.get("to") ?? NOW;
  const nowMs = Date.now();
  const options = [
    [NOW, "Now"] as const,
    ...items.map((checkpoint) => {
      const made = relativeTime(Date.parse(checkpoint.created_at), nowMs);
      return [checkpoint.id, `${checkpointName(checkpoint)}, ${made}`] as const;
    }),
  ];
  const choose = (name: string) => (value: string) => setQuery({ [name]: value }, { replace: true });
  const nameOf = (state: string) => options.find(([value]) => value === state)?.[1] ?? state;
  return (
    <>
      <fieldset class="filters">
        <legend class="sr-only">States</legend>
        <Select label="From" value={from} onValue={choose("from")} options={options} />
        <Select label="To" value={to} onValue={choose("to")} options={options} />
      </fieldset>
      <Comparison key={`${from} ${to}`} {...{ agentId, from, to }} fromName={nameOf(from)} toName={nameOf(to)} />
    </>
  );
}

interface ComparisonProps {
  agentId: string;
  from: string;
  to: string;
  fromName: string;
  toName: string;
}

function Comparison({ agentId, from, to, fromName, toName }: ComparisonProps) {
  const { api } = useRoom();
  const both = useLoad<{ diff: StateDiff; before: State; after: State }>(`${from} ${to}`, async (signal) => {
    const [before, after] = await Promise.all([from, to].map((state) => stateOf(api, agentId, state, signal)));
    if (before === undefined || after === undefined) throw new Error("A comparison has two states.");
    return { diff: compare(after.entries, before.entries), before, after };
  });
  return (
    <Show of={both}>
      {({ diff, before, after }) => (
        <>
          <Section title="Data">
            <Changes state={diff} names={[fromName, toName]} />
          </Section>
          <Section title="Configuration">
            <Configs before={before} after={after} names={[fromName, toName]} />
          </Section>
        </>
      )}
    </Show>
  );
}

async function stateOf(api: WorkspaceApi, agentId: string, state: string, signal: AbortSignal): Promise<State> {
  if (state !== NOW) {
    const { state: held } = await api.ask<CheckpointWithState>(`/v1/checkpoints/${segment(state)}`, { signal });
    return { config: held.config?.config ?? null, version: held.config?.version ?? null, entries: held.entries };
  }
  const [config, entries] = await Promise.all([configInForce(api, agentId, signal), liveEntries(api, agentId, signal)]);
  return { config: config?.config ?? null, version: config?.version ?? null, entries };
}

function Configs({ before, after, names }: { before: State; after: State; names: readonly [string, string] }) {
  const [then, now] = [before, after].map(({ config }) => (config === null ? "" : readableJson(config)));
  if (then === now) return <p class="faint">It has the same content in both.</p>;
  const named = (name: string, { version }: State) => `${name}: ${version ?? "none"}`;
  return (
    <Diff
      before={then ?? ""}
      after={now ?? ""}
      beforeName={named(names[0], before)}
      afterName={named(names[1], after)}
    />
  );
}
