/** Two states of an agent side by side: any two checkpoints, or a checkpoint and the present. */
import { segment, type WorkspaceApi } from "../../api/client.ts";
import type { Checkpoint, ConfigVersion } from "../../api/types.ts";
import { useList, useLoad } from "../../state/load.ts";
import { paths, place, setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Diff } from "../../ui/diff/diff.tsx";
import { Select } from "../../ui/field.tsx";
import { readableJson } from "../../ui/json-text.ts";
import { Empty, Section, Show, ShowItems } from "../../ui/parts.tsx";
import { relativeTime } from "../../ui/text/times.ts";
import { Changes, useChanges } from "./changes.tsx";
import { checkpointName } from "./checkpoints.tsx";

/** The name of the present state in the address. */
const NOW = "now";

/** The largest page of the API. */
const PAGE_SIZE = 1_000;

export function CompareView({ agentId }: { agentId: string }) {
  const { id, canRead } = useAccess();
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
      <Comparison key={`${from} ${to}`} {...{ agentId, from, to }} names={[nameOf(from), nameOf(to)]} />
    </>
  );
}

interface ComparisonProps {
  agentId: string;
  from: string;
  to: string;
  names: readonly [from: string, to: string];
}

function Comparison({ from, to, ...rest }: ComparisonProps) {
  if (from === NOW && to === NOW) return <Empty title="Nothing differs">{null}</Empty>;
  // The daemon always compares a checkpoint with another state, so a comparison that begins with the present is reversed.
  return from === NOW ? (
    <Between {...rest} checkpointId={to} isForward={false} />
  ) : (
    <Between {...rest} checkpointId={from} other={to === NOW ? undefined : to} isForward />
  );
}

interface BetweenProps extends Pick<ComparisonProps, "agentId" | "names"> {
  checkpointId: string;
  /** The other state; the present when absent. */
  other?: string | undefined;
  /** Whether the checkpoint comes first. */
  isForward: boolean;
}

function Between({ agentId, names, checkpointId, other, isForward }: BetweenProps) {
  const changes = useChanges(checkpointId, other);
  const { first } = changes;
  const versions = first && ([first.from_config_version, first.to_config_version] as const);
  return (
    <>
      <Section title="Data">
        <Changes of={changes} {...{ names, isForward }} />
      </Section>
      {versions !== undefined && (
        <Section title="Configuration">
          <Configs {...{ agentId, names }} versions={isForward ? versions : [versions[1], versions[0]]} />
        </Section>
      )}
    </>
  );
}

interface ConfigsProps extends Pick<ComparisonProps, "agentId" | "names"> {
  versions: readonly [string | null, string | null];
}

function Configs({ agentId, names, versions }: ConfigsProps) {
  const { api } = useAccess();
  const both = useLoad(`${agentId} ${versions}`, (signal) =>
    Promise.all(versions.map((version) => version && configText(api, agentId, version, signal))),
  );
  const named = (at: 0 | 1) => `${names[at]}: ${versions[at] ?? "none"}`;
  return (
    <Show of={both}>
      {([then, now]) =>
        then === now ? (
          <p class="faint">It has the same content in both.</p>
        ) : (
          <Diff before={then ?? ""} after={now ?? ""} beforeName={named(0)} afterName={named(1)} />
        )
      }
    </Show>
  );
}

async function configText(api: WorkspaceApi, agentId: string, version: string, signal: AbortSignal): Promise<string> {
  const path = `/v1/config/${segment(agentId)}/versions/${segment(version)}`;
  return readableJson((await api.ask<ConfigVersion>(path, { signal })).config);
}
