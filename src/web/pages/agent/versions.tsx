/** Every version of the configuration, a comparison of two, and the rollback to one. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { ConfigVersion, ConfigVersionItem, JsonObject } from "../../api/types.ts";
import { changesConfig, useEvents } from "../../state/events.ts";
import { type LoadedList, useList, useLoad } from "../../state/load.ts";
import { place, setQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Badge, PolicyBadges } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff.tsx";
import { say } from "../../ui/notices.tsx";
import { ACTIONS, Empty, More, Section, Show, Table } from "../../ui/parts.tsx";
import { Time } from "../../ui/time.tsx";

interface Props {
  room: Room;
  agentId: string;
}

export function VersionsTab({ room, agentId }: Props) {
  const versions = useList<ConfigVersionItem>(room.workspace.id, `/v1/config/${segment(agentId)}/versions`, {});
  useEvents((event) => {
    if (changesConfig(agentId, event)) versions.reload();
  }, versions.reload);
  return (
    <Show of={versions}>
      {(items) =>
        items.length === 0 ? (
          <Empty title="No version yet">
            <p>Save a configuration in the first tab; each save makes a version, which never changes.</p>
          </Empty>
        ) : (
          <Versions room={room} agentId={agentId} items={items} list={versions} />
        )
      }
    </Show>
  );
}

interface VersionsProps extends Props {
  items: readonly ConfigVersionItem[];
  list: LoadedList<ConfigVersionItem>;
}

function Versions({ room, agentId, items, list }: VersionsProps) {
  const [rollback, setRollback] = useState<string | null>(null);
  const current = items[0]?.version ?? "";
  const { query } = place.value;
  const to = query.get("to") ?? current;
  const from = query.get("from") ?? items[1]?.version ?? current;
  return (
    <>
      <Table
        head={[
          "Version",
          "Policies",
          "Saved",
          <th key="compare" scope="col">
            <span aria-hidden="true">Compare</span>
            <span class="sr-only">Compare: older, newer</span>
          </th>,
          room.canWrite && ACTIONS,
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
            {room.canWrite && (
              <td class="row-end-cell">
                {item.version !== current && <Button onClick={() => setRollback(item.version)}>Roll back</Button>}
              </td>
            )}
          </tr>
        ))}
      </Table>
      <More of={list} />
      <Comparison room={room} agentId={agentId} from={from} to={to} />
      {rollback !== null && (
        <Confirm
          title={`Roll back to ${rollback}?`}
          action={`Roll back to ${rollback}`}
          onClose={() => setRollback(null)}
          onConfirm={async () => {
            const made = await room.api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}/rollback`, {
              body: { version: rollback },
              headers: { "if-match": `"${current}"` },
            });
            say(`${made.version} is in force, with the content of ${rollback}.`);
            setQuery({ from: null, to: null }, { replace: true });
            list.reload();
          }}
        >
          <p>
            This makes a new version with the content of {rollback}, which applies at once. {current} and all others
            stay in the list.
          </p>
        </Confirm>
      )}
    </>
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

/** Returns a configuration as text with sorted members, so that their order makes no difference. */
export function configText(config: JsonObject): string {
  return JSON.stringify(
    config,
    (_name, value: unknown) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    2,
  );
}

function Comparison({ room, agentId, from, to }: Props & { from: string; to: string }) {
  const base = `/v1/config/${segment(agentId)}/versions`;
  const both = useLoad(`${agentId} ${from} ${to}`, (signal) =>
    Promise.all([from, to].map((version) => room.api.ask<ConfigVersion>(`${base}/${segment(version)}`, { signal }))),
  );
  return (
    <Section title={from === to ? from : `${from} → ${to}`}>
      <Show of={both}>
        {([older, newer]) =>
          older !== undefined &&
          newer !== undefined && (
            <Diff
              before={configText(older.config)}
              after={configText(newer.config)}
              beforeName={older.version}
              afterName={newer.version}
            />
          )
        }
      </Show>
    </Section>
  );
}
