/** Writing, deleting and erasing entries. */
import { useState } from "preact/hooks";
import type { JsonObject, WriteResult } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import { setQuery } from "../../state/router.ts";
import type { Room } from "../../state/session.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, TextArea, TextField } from "../../ui/field.tsx";
import { Findings, Marked } from "../../ui/findings.tsx";
import { counted } from "../../ui/numbers.ts";
import { Problem } from "../../ui/problem.tsx";

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
  const [key, setKey] = useState(initialKey);
  const [value, setValue] = useState(initialValue);
  const [metadata, setMetadata] = useState(JSON.stringify(initialMetadata, null, 2));
  /** The refusal, with the text that it is about. */
  const [blocked, setBlocked] = useState<{ result: Blocked; key: string; value: string } | null>(null);
  const write = useAction(async () => {
    setBlocked(null);
    const body = { agent_id: agentId, key, value, metadata: parseMetadata(metadata) };
    const result = await room.api.ask<WriteResult>("/v1/data/write", { body });
    if (!result.allowed) {
      setBlocked({ result, key, value });
      return;
    }
    say(result.message);
    onWritten();
    setQuery({ key, search: null });
    onClose();
  });
  const { problem } = write;
  return (
    <Dialog title={initialValue === "" ? "Write an entry" : "Overwrite the entry"} onClose={onClose} wide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void write.run();
        }}
      >
        <TextField
          label="Key"
          hint="Parts divided by / or : make a tree."
          value={key}
          onValue={setKey}
          problem={problem}
          param="key"
          attributes={{ required: true, spellcheck: false, autocomplete: "off" }}
        />
        <TextArea label="Value" rows={6} value={value} onValue={setValue} problem={problem} param="value" />
        <TextArea
          label="Metadata (JSON)"
          code
          rows={3}
          value={metadata}
          onValue={setMetadata}
          problem={problem}
          param="metadata"
          error={problem?.code === "dashboard" ? problem.message : null}
        />
        {problem?.code !== "dashboard" && <Problem problem={problem} />}
        {blocked !== null && <BlockedWrite {...blocked} />}
        <div class="row row-end">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button button-primary" disabled={write.busy}>
            Write
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why nothing was stored: the detectors, and the places in the text that was just typed. */
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
  entryKey: string;
  onDeleted(): void;
}

/** What a delete answers; the second member only when it erased. */
interface Deleted {
  deleted: number;
  erased_events?: number;
}

export function DeleteEntry({ room, agentId, entryKey, onClose, onDeleted }: DeleteProps) {
  const [erase, setErase] = useState(false);
  return (
    <Confirm
      title="Delete this entry?"
      action={erase ? "Erase for good" : "Delete"}
      danger
      onClose={onClose}
      onConfirm={async () => {
        const query = { agent_id: agentId, key: entryKey, ...(erase ? { erase } : {}) };
        const answer = await room.api.ask<Deleted>("/v1/data", { method: "DELETE", query });
        say(erase ? erasedWords(answer) : "Deleted.");
        onDeleted();
      }}
    >
      <p>
        <code>{entryKey}</code> goes from the live data. Checkpoints made before keep it, so it can be
        restored.
      </p>
      <EraseCheck erase={erase} onErase={setErase} />
    </Confirm>
  );
}

interface DeletePrefixProps extends Props {
  prefix: string;
  onDeleted(): void;
}

export function DeletePrefix({ room, agentId, prefix, onClose, onDeleted }: DeletePrefixProps) {
  const [erase, setErase] = useState(false);
  return (
    <Confirm
      title="Delete everything below this prefix?"
      action={erase ? "Erase all for good" : "Delete all"}
      danger
      onClose={onClose}
      onConfirm={async () => {
        const query = { agent_id: agentId, prefix, ...(erase ? { erase } : {}) };
        const answer = await room.api.ask<Deleted>("/v1/data/prefix", { method: "DELETE", query });
        say(erase ? erasedWords(answer) : `Deleted ${counted(answer.deleted, "entry", "entries")}.`);
        onDeleted();
      }}
    >
      <p>
        Every entry whose key begins with <code>{prefix}</code> goes from the live data. Checkpoints made
        before keep them. To be able to go back, make a checkpoint first.
      </p>
      <EraseCheck erase={erase} onErase={setErase} />
    </Confirm>
  );
}

const erasedWords = ({ deleted, erased_events = 0 }: Deleted): string =>
  `Erased ${counted(deleted, "entry", "entries")}, and the details of ${counted(erased_events, "event")}.`;

/** The way that has no way back, for a person's request to be forgotten. */
function EraseCheck({ erase, onErase }: { erase: boolean; onErase(erase: boolean): void }) {
  return (
    <Check
      label="Erase for good"
      hint="From every checkpoint too, and what the log's events say about the key is destroyed. The events stand and still verify. This cannot be undone."
      checked={erase}
      onChecked={onErase}
    />
  );
}
