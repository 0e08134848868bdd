/** Every version of the configuration, a comparison of two, and the rollback to one. */
import { segment } from "../../api/client.ts";
import type { ConfigVersion, ConfigVersionItem } from "../../api/types.ts";
import { changesConfig, useEvents, useList, useLoad } from "../../state/load.ts";
import { place, setQuery } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff.tsx";
import { Actor, Badge, PolicyBadges, Time } from "../../ui/inline.tsx";
import { say } from "../../ui/notices.tsx";
import { ACTIONS, Empty, Section, Show, ShowItems, Table } from "../../ui/parts.tsx";
import { sortedJson } from "./state-diff.ts";

export function VersionsTab({ agentId }: { agentId: string }) {
  const versions = useList<ConfigVersionItem>(`/v1/config/${segment(agentId)}/versions`, {});
  useEvents((event) => {
    if (changesConfig(agentId, event)) versions.reload();
  }, versions.reload);
  const items = versions.data ?? [];
  const current = items[0]?.version ?? "";
  const { query } = place.value;
  const to = query.get("to") ?? current;
  const from = query.get("from") ?? items[1]?.version ?? current;
  return (
    <>
      <ShowItems
        of={versions}
        empty={
          <Empty title="No version yet">
            <p>Save a configuration in the first tab; each save makes a version, which never changes.</p>
          </Empty>
        }
      >
        {(items) => <Versions agentId={agentId} items={items} from={from} to={to} onChanged={versions.reload} />}
      </ShowItems>
      {items.length > 0 && <Comparison agentId={agentId} from={from} to={to} />}
    </>
  );
}

interface Shown {
  agentId: string;
  /** The versions that are compared. */
  from: string;
  to: string;
}

interface VersionsProps extends Shown {
  items: readonly ConfigVersionItem[];
  onChanged(): void;
}

function Versions({ agentId, items, from, to, onChanged }: VersionsProps) {
  const { canWrite } = useRoom();
  const current = items[0]?.version ?? "";
  return (
    <Table
      head={[
        "Version",
        "Policies",
        "Saved",
        <th key="compare" scope="col">
          <span aria-hidden="true">Compare</span>
          <span class="sr-only">Compare: older, newer</span>
        </th>,
        canWrite && ACTIONS,
      ]}
    >
      {items.map((item) => (
        <tr key={item.version}>
          <th scope="row">
            {item.version} {item.version === current && <Badge tone="good">in force</Badge>}
            {item.rolled_back_from !== null && <span class="faint small"> content of {item.rolled_back_from}</span>}
          </th>
          <td data-label="Policies">
            <PolicyBadges policies={item.policies} />
          </td>
          <td data-label="Saved">
            <Time at={item.created_at} /> by <Actor id={item.created_by} />
          </td>
          <td data-label="Compare" class="nowrap">
            <Choice name="from" version={item.version} chosen={from} />
            <Choice name="to" version={item.version} chosen={to} />
          </td>
          {canWrite && (
            <td class="actions">
              {item.version !== current && (
                <DialogButton dialog={<Rollback {...{ agentId, current, onChanged }} to={item.version} />}>
                  Roll back
                </DialogButton>
              )}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

interface RollbackProps {
  agentId: string;
  current: string;
  to: string;
  onChanged(): void;
}

function Rollback({ agentId, current, to, onChanged }: RollbackProps) {
  const { api } = useRoom();
  const rollBack = async () => {
    const made = await api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}/rollback`, {
      body: { version: to },
      headers: { "if-match": `"${current}"` },
    });
    say(`${made.version} is in force, with the content of ${to}.`);
    setQuery({ from: null, to: null }, { replace: true });
    onChanged();
  };
  return (
    <Confirm title={`Roll back to ${to}?`} action={`Roll back to ${to}`} onConfirm={rollBack}>
      <p>
        This makes a new version with the content of {to}, which applies at once. {current} and all others stay in the
        list.
      </p>
    </Confirm>
  );
}

function Choice({ name, version, chosen }: { name: "from" | "to"; version: string; chosen: string }) {
  return (
    <label class="choice" title={name === "from" ? "Older side" : "Newer side"}>
      <input
        type="radio"
        name={`compare-${name}`}
        checked={version === chosen}
        aria-label={`${version} as the ${name === "from" ? "older" : "newer"} side`}
        onChange={() => setQuery({ [name]: version }, { replace: true })}
      />
    </label>
  );
}

function Comparison({ agentId, from, to }: Shown) {
  const { api } = useRoom();
  const base = `/v1/config/${segment(agentId)}/versions`;
  const both = useLoad(`${agentId} ${from} ${to}`, (signal) =>
    Promise.all([from, to].map((version) => api.ask<ConfigVersion>(`${base}/${segment(version)}`, { signal }))),
  );
  return (
    <Section title={from === to ? from : `${from} → ${to}`}>
      <Show of={both}>
        {([older, newer]) =>
          older !== undefined &&
          newer !== undefined && (
            <Diff
              before={sortedJson(older.config)}
              after={sortedJson(newer.config)}
              beforeName={older.version}
              afterName={newer.version}
            />
          )
        }
      </Show>
    </Section>
  );
}
