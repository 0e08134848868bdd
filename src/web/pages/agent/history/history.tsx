/** The history of an entry: its versions, who wrote and what ended each, a comparison of two, and the way back to one. */
import { useState } from "preact/hooks";
import type { EventName } from "../../../../operations.ts";
import { isCode } from "../../../api/client.ts";
import type { EntryVersionItem, EntryVersionList } from "../../../api/types.ts";
import { type LoadedList, useList, useLoad, useReloadOnChange } from "../../../state/load.ts";
import { paths, place } from "../../../state/router.ts";
import { useAccess } from "../../../state/session.ts";
import { useTitle } from "../../../state/title.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyBlock, CopyButton } from "../../../ui/copy.tsx";
import { COMPARE, type Compared, Sides } from "../../../ui/diff/sides.tsx";
import { Actor, Badge, ExactTime, shortId, Time } from "../../../ui/inline.tsx";
import { Close } from "../../../ui/leave.ts";
import { ACTIONS, Empty, Facts, Section, Show, ShowItems, Table } from "../../../ui/parts.tsx";
import { exactTime } from "../../../ui/text/times.ts";
import { LineageLinks } from "../../lineage/links.tsx";
import { Placement, SetAsideBadge } from "../../quarantine/set-aside.tsx";
import { MetadataText } from "../entry.tsx";
import { ContentDiff, contentsOf, type Version } from "./contents.tsx";
import { type Placed, Revert } from "./revert.tsx";

/** Events reload the list at most this often. */
const REFRESH_MS = 2_000;

export function HistoryView({ agentId }: { agentId: string }) {
  const { id, canRead } = useAccess();
  const key = place.value.query.get("key") ?? "";
  useTitle("detail", key);
  if (key === "") {
    return (
      <Empty title="The address names no entry">
        <p>
          <a href={paths.data(id, agentId)}>Choose a key</a> and open its history.
        </p>
      </Empty>
    );
  }
  if (!canRead) {
    return (
      <Empty title="Auditors see no stored values">
        <p>
          Who wrote and deleted this entry, and when, is in{" "}
          <a href={paths.events(id, { agent_id: agentId, key })}>the events of its key</a>.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <p class="crumbs small">
        <a href={paths.data(id, agentId, { key })}>The entry</a>
      </p>
      <div class="entry-head">
        <h2 class="entry-key">{key}</h2>
        <CopyButton text={key} label="Copy key" />
      </div>
      <Versions key={key} agentId={agentId} entryKey={key} />
    </>
  );
}

interface EntryProps {
  agentId: string;
  entryKey: string;
}

function Versions({ agentId, entryKey }: EntryProps) {
  const versions = useList<EntryVersionItem, EntryVersionList>("/v1/data/versions", {
    agent_id: agentId,
    key: entryKey,
  });
  useReloadOnChange(agentId, versions.reload, REFRESH_MS);
  /** The version that the dialog is about, which stays when the version leaves the list. */
  const [again, setAgain] = useState<Placed | null>(null);
  const close = () => {
    setAgain(null);
    versions.reload();
  };
  return (
    <>
      {isCode(versions.problem, "entry_not_found") ? (
        <NothingKept />
      ) : (
        <Listed of={versions} onAgain={setAgain} {...{ agentId, entryKey }} />
      )}
      {again !== null && (
        <Close.Provider value={close}>
          <Revert agentId={agentId} {...again} />
        </Close.Provider>
      )}
    </>
  );
}

interface ListedProps extends EntryProps {
  of: LoadedList<EntryVersionItem, EntryVersionList>;
  onAgain(version: Placed): void;
}

/** The list, and the comparison of two: a version and the one before it, until others are chosen. */
function Listed({ of: versions, onAgain, agentId, entryKey }: ListedProps) {
  const items = versions.data ?? [];
  const placeOf = (wanted: string) => items.findIndex(({ version }) => version === wanted);
  const { query } = place.value;
  const to = query.get("to") ?? items[0]?.version ?? "";
  const from = query.get("from") ?? items[placeOf(to) + 1]?.version ?? to;
  const places = [from, to].map(placeOf);
  const depth = places.includes(-1) ? null : Math.max(...places) + 1;
  return (
    <>
      <ShowItems of={versions} empty={<NothingKept />}>
        {(all) => <Rows items={all} onChanged={versions.reload} {...{ agentId, onAgain, from, to }} />}
      </ShowItems>
      {versions.first !== undefined && (
        <p class="faint small history-since">
          What was overwritten or deleted before <ExactTime at={versions.first.kept_since} /> is no longer kept.
        </p>
      )}
      {items.length > 0 && <Comparison {...{ agentId, entryKey, from, to, depth }} />}
    </>
  );
}

const NothingKept = () => (
  <Empty title="Nothing is kept of this entry">
    <p>It was never written, it was erased, or it ended before the time since which its history is kept.</p>
  </Empty>
);

interface RowsProps extends Compared {
  agentId: string;
  items: readonly EntryVersionItem[];
  onAgain(version: Placed): void;
  onChanged(): void;
}

function Rows({ agentId, items, from, to, onAgain, onChanged }: RowsProps) {
  const { canWrite } = useAccess();
  return (
    <Table head={["Version", "Written", "Ended", "Lineage", COMPARE, canWrite && ACTIONS]}>
      {items.map((item, at) => (
        <tr key={item.version}>
          <th scope="row">
            <EventLink id={item.version} /> {item.ended_at === null && <Badge tone="good">present</Badge>}{" "}
            {item.quarantined && <SetAsideBadge />}
            {item.reverted_from !== undefined && (
              <span class="faint small">
                {" "}
                content of <EventLink id={item.reverted_from} />
              </span>
            )}
          </th>
          <td data-label="Written">
            <Time at={item.written_at} /> by <Actor id={item.written_by} />
          </td>
          <td data-label="Ended">
            <End of={item} />
          </td>
          <td data-label="Lineage">
            <LineageLinks event={item.version} />
          </td>
          <td data-label="Compare" class="nowrap">
            <Sides version={item.version} name={shortId(item.version)} {...{ from, to }} />
          </td>
          {canWrite && (
            <td class="actions">
              {item.ended_at !== null && !item.quarantined && (
                <Button
                  aria-label={`Write again … (version ${shortId(item.version)})`}
                  onClick={() => onAgain({ item, depth: at + 1 })}
                >
                  Write again …
                </Button>
              )}{" "}
              <Placement {...{ agentId, onChanged, version: item.version }} isSetAside={item.quarantined} />
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

function EventLink({ id: event }: { id: string }) {
  const { id } = useAccess();
  return (
    <a href={paths.event(id, event)}>
      <code>{shortId(event)}</code>
    </a>
  );
}

/** What ends a version, by operation. */
const ENDS: Readonly<Partial<Record<EventName, string>>> = {
  "data.write": "overwritten",
  "data.delete": "deleted",
  "data.delete_prefix": "deleted",
  "checkpoint.restore": "ended by a restore",
};

function End({ of: { ended_at, ended_by } }: { of: EntryVersionItem }) {
  const { id } = useAccess();
  if (ended_at === null || ended_by === null) return <span class="faint">not yet</span>;
  return (
    <a href={paths.event(id, ended_by.audit_id)}>
      {ENDS[ended_by.operation as EventName] ?? `ended by ${ended_by.operation}`} <Time at={ended_at} />
    </a>
  );
}

interface ComparisonProps extends EntryProps, Compared {
  /** In how many of the newest versions both are; null when the list does not show both. */
  depth: number | null;
}

function Comparison({ agentId, entryKey, from, to, depth }: ComparisonProps) {
  const { api } = useAccess();
  const entry = { agent_id: agentId, key: entryKey };
  const both = useLoad(JSON.stringify([entry, from, to]), (signal) =>
    contentsOf(api, entry, [from, to], { depth, signal }),
  );
  return (
    <Section title={from === to ? "Content" : "Differences"}>
      <Show of={both}>{([older, newer]) => <Sided {...{ older, newer }} isOne={from === to} />}</Show>
    </Section>
  );
}

interface SidedProps {
  older: Version | undefined;
  newer: Version | undefined;
  isOne: boolean;
}

function Sided({ older, newer, isOne }: SidedProps) {
  if (older === undefined || newer === undefined) {
    return <p class="callout tone-warn">A version that the address names is no longer kept. Choose others above.</p>;
  }
  if (!isOne) return <ContentDiff before={older} after={newer} beforeName={nameOf(older)} afterName={nameOf(newer)} />;
  return (
    <>
      <CopyBlock text={newer.value} label="Value" />
      <Facts of={{ Metadata: <MetadataText metadata={newer.metadata} /> }} />
    </>
  );
}

const nameOf = ({ version, written_at }: Version): string =>
  `${exactTime(Date.parse(written_at))}, ${shortId(version)}`;
