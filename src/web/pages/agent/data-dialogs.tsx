/** Writing, deleting and erasing entries. */
import { useState } from "preact/hooks";
import type { DeletedOrErased, JsonObject, WriteResult } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { setQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { Check, Form, TextArea, TextField, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Findings, Marked } from "../../ui/problem.tsx";

interface Props {
  room: Room;
  agentId: string;
  onClose(): void;
}

interface WriteProps extends Props {
  initialKey: string;
  initialValue?: string;
  initialMetadata?: JsonObject;
  onWritten(): void;
}

type Blocked = Extract<WriteResult, { allowed: false }>;

export function WriteEntry(props: WriteProps) {
  const { room, agentId, initialKey, initialValue = "", initialMetadata = {}, onClose, onWritten } = props;
  const key = useText(initialKey);
  const value = useText(initialValue);
  const metadata = useText(JSON.stringify(initialMetadata, null, 2));
  /** The refusal, with the text that it is about. */
  const [blocked, setBlocked] = useState<{ result: Blocked; key: string; value: string } | null>(null);
  const write = useAction(async () => {
    setBlocked(null);
    const sent = { key: key.value, value: value.value };
    const body = { agent_id: agentId, ...sent, metadata: parseMetadata(metadata.value) };
    const result = await room.api.ask<WriteResult>("/v1/data/write", { body });
    if (!result.allowed) {
      setBlocked({ result, ...sent });
      return;
    }
    say(result.message);
    onWritten();
    setQuery({ key: sent.key, search: null });
    onClose();
  });
  const { problem } = write;
  const isDraftError = problem?.code === "dashboard";
  return (
    <Dialog title={initialValue === "" ? "Write an entry" : "Overwrite the entry"} onClose={onClose} wide>
      <Form action={write} submit="Write" shownByField={isDraftError} onCancel={onClose}>
        <TextField
          label="Key"
          hint="Separate parts with / or : to make a tree."
          {...key}
          param="key"
          attributes={{ required: true, spellcheck: false, autocomplete: "off" }}
        />
        <TextArea label="Value" rows={6} {...value} param="value" />
        <TextArea
          label="Metadata (JSON)"
          code
          rows={3}
          {...metadata}
          param="metadata"
          error={isDraftError ? (problem?.message ?? null) : null}
        />
        {blocked !== null && <BlockedWrite {...blocked} />}
      </Form>
    </Dialog>
  );
}

/** Says why nothing was stored: the detectors, and the places in the text that the user typed. */
function BlockedWrite({ result, key, value }: { result: Blocked; key: string; value: string }) {
  const inField = (field: string) => result.findings.filter((finding) => finding.field === field);
  return (
    <div class="callout callout-bad" role="alert">
      <p>
        <strong>Blocked by {result.blocked_by.replace("policy:", "")}.</strong> {result.message}
      </p>
      <Findings findings={result.findings} />
      {inField("key").length > 0 && <Marked text={key} findings={inField("key")} />}
      {inField("value").length > 0 && <Marked text={value} findings={inField("value")} />}
    </div>
  );
}

function parseMetadata(text: string): JsonObject {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`The metadata is not JSON: ${(error as Error).message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Error('The metadata must be a JSON object, such as {"source": "crm"}.');
  }
  return value as JsonObject;
}

interface DeleteProps extends Props {
  /** One entry, or all with a prefix. */
  what: { key: string } | { prefix: string };
  onDeleted(): void;
}

export function Delete({ room, agentId, what, onClose, onDeleted }: DeleteProps) {
  const [erase, setErase] = useState(false);
  const one = "key" in what;
  const action = erase ? (one ? "Erase for good" : "Erase all for good") : one ? "Delete" : "Delete all";
  return (
    <Confirm
      title={one ? "Delete this entry?" : "Delete everything below this prefix?"}
      action={action}
      danger
      onClose={onClose}
      onConfirm={async () => {
        const query = { agent_id: agentId, ...what, ...(erase ? { erase } : {}) };
        const path = one ? "/v1/data" : "/v1/data/prefix";
        const { deleted, erased_events = 0 } = await room.api.ask<DeletedOrErased>(path, { method: "DELETE", query });
        const entries = counted(deleted, "entry", "entries");
        if (!erase) say(one ? "Deleted." : `Deleted ${entries}.`);
        else say(`Erased ${entries}, and the details of ${counted(erased_events, "event")}.`);
        onDeleted();
      }}
    >
      {one ? (
        <p>
          This removes <code>{what.key}</code> from the live data. Earlier checkpoints keep it, so it can be restored.
        </p>
      ) : (
        <p>
          This removes every entry whose key begins with <code>{what.prefix}</code> from the live data. Earlier
          checkpoints keep them. To be able to go back, make a checkpoint first.
        </p>
      )}
      <Check
        label="Erase for good"
        hint="Also from every checkpoint, and destroy what the log's events say about the key. The events stay and still verify. This cannot be undone."
        checked={erase}
        onChecked={setErase}
      />
    </Confirm>
  );
}
