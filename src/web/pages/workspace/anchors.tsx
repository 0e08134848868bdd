/** The places that keep the workspace's seals, and how old the newest seal is there. */
import type { Anchor } from "../../api/types.ts";
import { useLoad } from "../../state/load.ts";
import type { Room } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Section, Show, Table } from "../../ui/parts.tsx";
import { Time, TimeOr } from "../../ui/time.tsx";

const KIND_WORDS: Readonly<Record<Anchor["kind"], string>> = {
  command: "A program",
  webhook: "Web hook",
  witness: "Witness",
};

export function Anchors({ room }: { room: Room }) {
  const anchors = useLoad<Anchor[]>(room.workspace.id, async (signal) => {
    const { anchors } = await room.api.ask<{ anchors: Anchor[] }>("/v1/audit/anchors", { signal });
    return anchors;
  });
  return (
    <Section title="Newest anchor" actions={<Button onClick={anchors.reload}>Look again</Button>}>
      <Show of={anchors}>{(items) => (items.length === 0 ? <Nowhere /> : <Places items={items} />)}</Show>
    </Section>
  );
}

function Nowhere() {
  return (
    <Empty title="Seals go nowhere by themselves">
      <p>
        Whoever holds this machine's disk and its key could rewrite what no kept seal covers. Save the seal above now
        and then, or have the operator set <code>anchor_url</code>, <code>anchor_command</code> or{" "}
        <code>witnesses</code>.
      </p>
    </Empty>
  );
}

function Places({ items }: { items: readonly Anchor[] }) {
  return (
    <div class="stack">
      <Newest items={items} />
      <Table head={["Place", "Holds", "Taken", "Waiting"]}>
        {items.map((anchor, index) => (
          <tr key={index}>
            <th scope="row">
              {KIND_WORDS[anchor.kind]} {anchor.name !== null && <code>{anchor.name}</code>}
            </th>
            <td data-label="Holds">
              {anchor.seal_size === null ? <span class="faint">not known</span> : counted(anchor.seal_size, "event")}
            </td>
            <td data-label="Taken">
              <TimeOr at={anchor.anchored_at} none="never yet" />
            </td>
            <td data-label="Waiting">
              <TimeOr at={anchor.pending_since} none="nothing" />
              {anchor.failures > 0 && <span class="faint small">, tried {counted(anchor.failures, "time")}</span>}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

/** The seal that covers most events. One place that nobody here can write to is enough. */
function Newest({ items }: { items: readonly Anchor[] }) {
  let newest: Anchor | null = null;
  for (const anchor of items) {
    if ((anchor.seal_size ?? 0) > (newest?.seal_size ?? 0)) newest = anchor;
  }
  if (newest === null || newest.seal_size === null || newest.sealed_at === null) {
    return <p>No place is known to have a seal of this workspace yet.</p>;
  }
  return (
    <p>
      The first <strong>{count(newest.seal_size)}</strong> events are covered by a seal that was taken away, made{" "}
      <Time at={newest.sealed_at} />.
    </p>
  );
}
