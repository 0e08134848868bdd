/** Writing a version of an entry again. The dialog shows before what it changes, and why it was refused. */
import { useState } from "preact/hooks";
import { isCode, orNull } from "../../../api/client.ts";
import type { EntryVersionItem, FullEntry, WriteResult } from "../../../api/types.ts";
import { type Loaded, useLoad } from "../../../state/load.ts";
import { setQuery } from "../../../state/router.ts";
import { useAccess } from "../../../state/session.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { Diff } from "../../../ui/diff/diff.tsx";
import { Form } from "../../../ui/field.tsx";
import { Actor, Time } from "../../../ui/inline.tsx";
import { useClose } from "../../../ui/leave.ts";
import { say } from "../../../ui/notices.tsx";
import { Facts, Show } from "../../../ui/parts.tsx";
import { type Blocked, BlockedWrite } from "../blocked-write.tsx";
import { MetadataText } from "../entry.tsx";
import { ContentDiff, contentsOf, type Version } from "./contents.tsx";

/** A version of an entry, and its place among them: 1 is the newest. */
export interface Placed {
  item: EntryVersionItem;
  depth: number;
}

/** What the dialog shows: the present entry, null for none, and the version, undefined when it is no longer kept. */
interface Shown {
  present: FullEntry | null;
  version: Version | undefined;
}

/** Why the daemon did not write it. */
type Refusal = { why: "blocked"; result: Blocked } | { why: "changed" } | { why: "gone" };

/** Loads what the dialog shows. */
function useShown(agentId: string, { item: { key, version }, depth }: Placed): Loaded<Shown> {
  const { api } = useAccess();
  return useLoad<Shown>(JSON.stringify(["revert", agentId, key, version]), async (signal) => {
    const entry = { agent_id: agentId, key };
    const [present, contents] = await Promise.all([
      orNull("entry_not_found", api.ask<FullEntry>("/v1/data/read-full", { query: entry, signal })),
      orNull("entry_not_found", contentsOf(api, entry, [version], { depth, signal })),
    ]);
    return { present, version: contents?.[0] };
  });
}

export function Revert({ agentId, ...placed }: Placed & { agentId: string }) {
  const { api } = useAccess();
  const close = useClose();
  const { key, version } = placed.item;
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const shown = useShown(agentId, placed);
  const revert = async () => {
    setRefusal(null);
    if (shown.data === undefined) throw new Error("What would change is still being loaded. Try again.");
    const body = { agent_id: agentId, key, version, if_version: shown.data.present?.audit_id ?? null };
    try {
      const result = await api.ask<WriteResult>("/v1/data/revert", { body });
      if (!result.allowed) return setRefusal({ why: "blocked", result });
      say(`The entry ${key}`, `is ${result.message.replace(/^S/, "s")}`);
      setQuery({ from: null, to: null }, { replace: true });
      close();
    } catch (error) {
      if (isCode(error, "version_conflict")) {
        setRefusal({ why: "changed" });
        shown.reload();
      } else if (isCode(error, "version_gone") || isCode(error, "version_not_found")) {
        setRefusal({ why: "gone" });
      } else {
        throw error;
      }
    }
  };
  const isGone = refusal?.why === "gone" || (shown.data !== undefined && shown.data.version === undefined);
  return (
    <Dialog title="Write this version again?" wide>
      <Form onSubmit={revert} submit="Write again" disabled={isGone || shown.data === undefined} cancel>
        <Show of={shown}>{(data) => <Preview {...data} />}</Show>
        {refusal?.why === "changed" && <Changed />}
        {refusal?.why === "blocked" && (
          <BlockedWrite result={refusal.result} entryKey={key} value={shown.data?.version?.value ?? ""} />
        )}
        {isGone && <Gone />}
      </Form>
    </Dialog>
  );
}

/** Says what changes. */
function Preview({ present, version }: Shown) {
  if (version === undefined) return null;
  return (
    <>
      {present === null ? (
        <>
          <p>The entry does not exist now. This makes it again, with this content:</p>
          <Diff before="" after={version.value} beforeName="Now" afterName="This version" />
          <Facts of={{ Metadata: <MetadataText metadata={version.metadata} /> }} />
        </>
      ) : (
        <>
          <p>
            This overwrites what <Actor id={present.written_by} /> wrote <Time at={present.updated_at} />:
          </p>
          <ContentDiff before={present} after={version} beforeName="Now" afterName="This version" />
        </>
      )}
      <p class="faint">
        It is a write like any other: the policies in force now decide. The new version has no end of its own
        {present?.expires_at != null && (
          <>
            ; the present one ends <Time at={present.expires_at} />
          </>
        )}
        .
      </p>
    </>
  );
}

const Changed = () => (
  <p class="callout tone-warn" role="alert">
    <strong>Somebody changed the entry in the meantime.</strong> Nothing was written. Above is what would change now.
  </p>
);

const Gone = () => (
  <p class="callout tone-warn" role="alert">
    <strong>This version is no longer kept.</strong> Nothing was written.
  </p>
);
