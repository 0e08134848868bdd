/** Writing an entry. A refusal by the policies, or what somebody else wrote meanwhile, is shown, and no input is lost. */
import { useState } from "preact/hooks";
import { isCode, orNull } from "../../api/client.ts";
import type { FullEntry, JsonObject, WriteResult } from "../../api/types.ts";
import { setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Diff } from "../../ui/diff/diff.tsx";
import { Form, Moment, TextArea, TextField, useFields } from "../../ui/field.tsx";
import { Actor, Time } from "../../ui/inline.tsx";
import { parseObject } from "../../ui/json-text.ts";
import { useClose } from "../../ui/leave.ts";
import { instant, localTime } from "../../ui/local-time.ts";
import { say } from "../../ui/notices.tsx";
import { type Blocked, BlockedWrite } from "./blocked-write.tsx";

interface WriteProps {
  agentId: string;
  /** The start: an entry to overwrite, or the beginning of a new key. */
  initial: FullEntry | { key: string };
  onChanged(): void;
}

const shown = (metadata: JsonObject): string => JSON.stringify(metadata, null, 2);

export function WriteEntry({ agentId, initial, onChanged }: WriteProps) {
  const close = useClose();
  const { api } = useAccess();
  // The page reloads the entry while the dialog is open. Only the version that the user has seen may be overwritten.
  const [base] = useState(() => ("audit_id" in initial ? initial : null));
  const { field, values } = useFields({
    key: initial.key,
    value: base?.value ?? "",
    metadata: shown(base?.metadata ?? {}),
    expires_at: localTime(base?.expires_at ?? null),
  });
  /** The refusal, with the refused text. */
  const [blocked, setBlocked] = useState<{ result: Blocked; entryKey: string; value: string } | null>(null);
  /** What another one wrote under this key; `entry` is null when it was deleted. */
  const [theirs, setTheirs] = useState<{ key: string; entry: FullEntry | null } | null>(null);
  const conflict = theirs?.key === values.key ? theirs : null;
  const finish = (key: string) => {
    onChanged();
    setQuery({ key, search: null });
    close();
  };
  const write = async () => {
    setBlocked(null);
    const { key, value } = values;
    const metadata = parseObject("metadata", "The metadata", values.metadata, '{"source": "crm"}');
    const seen = conflict === null ? (base?.key === key ? base : null) : conflict.entry;
    const isSameEnd = base !== null && values.expires_at === localTime(base.expires_at);
    const ends = isSameEnd ? base.expires_at : (instant(values.expires_at) ?? null);
    const body = { agent_id: agentId, key, value, metadata, expires_at: ends, if_version: seen?.audit_id ?? null };
    let result: WriteResult;
    try {
      result = await api.ask<WriteResult>("/v1/data/write", { body });
    } catch (error) {
      if (!isCode(error, "version_conflict")) throw error;
      const query = { agent_id: agentId, key };
      setTheirs({ key, entry: await orNull("entry_not_found", api.ask<FullEntry>("/v1/data/read-full", { query })) });
      return;
    }
    if (!result.allowed) {
      setBlocked({ result, entryKey: key, value });
      return;
    }
    say(`The entry ${key}`, `is ${result.message.replace(/^S/, "s")}`);
    finish(key);
  };
  return (
    <Dialog title={base === null ? "Write an entry" : "Overwrite the entry"} wide>
      <Form onSubmit={write} submit={conflict === null ? "Write" : "Write mine over it"} cancel>
        <TextField
          label="Key"
          hint="Separate parts with / or : to make a tree."
          {...field("key")}
          required
          spellcheck={false}
          autocomplete="off"
        />
        <TextArea label="Value" rows={6} {...field("value")} />
        <TextArea label="Metadata (JSON)" code rows={3} {...field("metadata")} />
        <Moment label="Ends" hint="Empty: only the retention of its policies ends it." {...field("expires_at")} />
        {blocked !== null && <BlockedWrite {...blocked} />}
        {conflict !== null && <Conflict entry={conflict.entry} mine={values} onTheirs={() => finish(conflict.key)} />}
      </Form>
    </Dialog>
  );
}

interface ConflictProps {
  entry: FullEntry | null;
  mine: { value: string; metadata: string };
  onTheirs(): void;
}

/** Shows both sides after 412. The user decides. */
function Conflict({ entry, mine, onTheirs }: ConflictProps) {
  if (entry === null) {
    return (
      <div class="callout tone-warn" role="alert">
        <p>
          <strong>The entry was deleted in the meantime.</strong> What you typed is still here.
        </p>
      </div>
    );
  }
  const metadata = shown(entry.metadata);
  return (
    <div class="callout tone-warn stack" role="alert">
      <p>
        <strong>
          <Actor id={entry.written_by} /> wrote this key <Time at={entry.updated_at} />.
        </strong>{" "}
        Nothing was overwritten, and what you typed is still here.
      </p>
      <Diff before={entry.value} after={mine.value} beforeName="Stored value" afterName="Your value" />
      {metadata !== mine.metadata && (
        <Diff before={metadata} after={mine.metadata} beforeName="Stored metadata" afterName="Your metadata" />
      )}
      <Button onClick={onTheirs}>Keep theirs, drop mine</Button>
    </div>
  );
}
