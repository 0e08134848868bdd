/** Every version of something, a comparison of two, and the way back to one. */
import { segment } from "../../api/client.ts";
import type { AuditEvent, Page, Policies } from "../../api/types.ts";
import { useAsk, useEvents, useList, useLoad } from "../../state/load.ts";
import { place, setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Confirm, DialogButton } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff/diff.tsx";
import { COMPARE, type Compared, Sides } from "../../ui/diff/sides.tsx";
import { Actor, Badge, PolicyBadges, Time } from "../../ui/inline.tsx";
import { readableJson } from "../../ui/json-text.ts";
import { type SortedColumn, SortHead, sortedByApi } from "../../ui/lists/sort.tsx";
import { ACTIONS, Empty, Section, Show, ShowItems, Table } from "../../ui/parts.tsx";

/** A version in a list. */
interface VersionItem {
  version: string;
  policies: Policies;
  created_at: string;
  created_by: string;
  rolled_back_from?: string | null;
}

interface Props<Item extends VersionItem, Version> {
  /** The address of the list. The address of a single version is this one followed by the version. */
  path: string;
  /** Reports whether an event may have put another version in force. */
  changes(event: AuditEvent): boolean;
  /** The part of a version that is compared. */
  contentOf(version: Version): unknown;
  /** Says how the first version comes about. */
  empty: string;
  /** Makes a new version with the content of an earlier one. `current` is the version in force. */
  goBack(to: Item, current: string): Promise<void>;
}

const VERSION: SortedColumn = { id: "version", name: "Version", isMostFirst: true };
const NEWEST_FIRST = "-version";

export function VersionList<Item extends VersionItem, Version>(props: Props<Item, Version>) {
  const { path, changes, contentOf, empty, goBack } = props;
  const { order } = sortedByApi([VERSION], NEWEST_FIRST);
  const versions = useList<Item>(path, { order });
  // The version in force and the version before it, whatever the order of the list is.
  const newest = useAsk<Page<Item>>(path, { query: { limit: 2 } });
  const reload = () => {
    versions.reload();
    newest.reload();
  };
  useEvents((event) => {
    if (changes(event)) reload();
  }, reload);
  const [inForce, before] = newest.data?.data ?? [];
  const current = inForce?.version ?? "";
  const { query } = place.value;
  const to = query.get("to") ?? current;
  const from = query.get("from") ?? before?.version ?? current;
  const back = async (item: Item) => {
    await goBack(item, current);
    setQuery({ from: null, to: null }, { replace: true });
    reload();
  };
  return (
    <>
      <ShowItems
        of={versions}
        empty={
          <Empty title="No version yet">
            <p>{empty}</p>
          </Empty>
        }
      >
        {(items) => <Rows items={items as readonly Item[]} {...{ current, from, to }} onBack={back} />}
      </ShowItems>
      {current !== "" && <Comparison {...{ path, contentOf, from, to }} />}
    </>
  );
}

interface RowsProps<Item> extends Compared {
  items: readonly Item[];
  /** The version in force. */
  current: string;
  onBack(item: Item): Promise<void>;
}

function Rows<Item extends VersionItem>({ items, current, from, to, onBack }: RowsProps<Item>) {
  const { canWrite } = useAccess();
  return (
    <Table
      head={[
        <SortHead key="version" column={VERSION} initially={NEWEST_FIRST} />,
        "Policies",
        "Saved",
        COMPARE,
        canWrite && ACTIONS,
      ]}
    >
      {items.map((item) => (
        <tr key={item.version}>
          <th scope="row">
            {item.version} {item.version === current && <Badge tone="good">in force</Badge>}
            {item.rolled_back_from != null && <span class="faint small"> content of {item.rolled_back_from}</span>}
          </th>
          <td data-label="Policies">
            <PolicyBadges policies={item.policies} />
          </td>
          <td data-label="Saved">
            <Time at={item.created_at} /> by <Actor id={item.created_by} />
          </td>
          <td data-label="Compare" class="nowrap">
            <Sides version={item.version} name={item.version} {...{ from, to }} />
          </td>
          {canWrite && (
            <td class="actions">
              {item.version !== current && (
                <DialogButton dialog={<Back {...{ current }} to={item.version} onBack={() => onBack(item)} />}>
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

function Back({ current, to, onBack }: { current: string; to: string; onBack(): Promise<void> }) {
  return (
    <Confirm title={`Roll back to ${to}?`} action={`Roll back to ${to}`} onConfirm={onBack}>
      <p>
        This makes a new version with the content of {to}, which applies at once. {current} and all others stay in the
        list.
      </p>
    </Confirm>
  );
}

interface ComparisonProps<Version> extends Compared {
  path: string;
  contentOf(version: Version): unknown;
}

function Comparison<Version>({ path, contentOf, from, to }: ComparisonProps<Version>) {
  const { api } = useAccess();
  const both = useLoad(`${path} ${from} ${to}`, (signal) =>
    Promise.all([from, to].map((version) => api.ask<Version>(`${path}/${segment(version)}`, { signal }))),
  );
  return (
    <Section title={from === to ? from : `${from} → ${to}`}>
      <Show of={both}>
        {([older, newer]) =>
          older !== undefined &&
          newer !== undefined && (
            <Diff
              before={readableJson(contentOf(older))}
              after={readableJson(contentOf(newer))}
              beforeName={from}
              afterName={to}
            />
          )
        }
      </Show>
    </Section>
  );
}
