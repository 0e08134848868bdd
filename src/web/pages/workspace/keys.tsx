/** The API keys of a workspace. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { ApiKey, NewApiKey, Scope } from "../../api/types.ts";
import { useAction, useItems } from "../../state/load.ts";
import type { Room } from "../../state/session.ts";
import { Actor, learnActors, shortId } from "../../ui/actor.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { NewKey } from "../../ui/copy.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { Form, Select, TextField, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { ACTIONS, Empty, Heading, Show, Table } from "../../ui/parts.tsx";
import { SCOPE_WORDS } from "../../ui/roles.ts";
import { Time, TimeOr } from "../../ui/time.tsx";

const STATES: Record<ApiKey["state"], readonly [words: string, tone: Tone]> = {
  in_force: ["in force", "good"],
  expired: ["expired", "plain"],
  revoked: ["revoked", "plain"],
};

type Asked = { act: "create" } | { act: "revoke" | "rotate"; key: ApiKey } | null;

export function KeysPage({ room }: { room: Room }) {
  const base = `/account/workspaces/${room.workspace.id}/keys`;
  const keys = useItems<ApiKey>(base);
  const [asked, setAsked] = useState<Asked>(null);
  const [made, setMade] = useState<NewApiKey | null>(null);
  const close = () => setAsked(null);
  const changed = (key: NewApiKey | null) => {
    setMade(key);
    keys.reload();
    void learnActors(room.workspace.id, true);
  };
  const createButton = room.canManage && (
    <Button kind="primary" onClick={() => setAsked({ act: "create" })}>
      New key
    </Button>
  );
  return (
    <>
      <Heading title="API keys" name="API keys" actions={createButton}>
        Agents send requests to this workspace with a key. Only a digest of each key is stored.
      </Heading>
      <Show of={keys}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="No key yet">
              <p>Make one for each agent or service, so that each can be revoked alone.</p>
              {createButton}
            </Empty>
          ) : (
            <KeyTable room={room} keys={items} onAsk={setAsked} />
          )
        }
      </Show>
      {asked?.act === "create" && <CreateKey base={base} onClose={close} onMade={changed} />}
      {asked?.act === "revoke" && (
        <Confirm
          title={`Revoke ${nameOf(asked.key)}?`}
          action="Revoke now"
          danger
          onClose={close}
          onConfirm={async () => {
            await ask(`${base}/${asked.key.id}`, { method: "DELETE" });
            say("Revoked: requests with it are refused.");
            changed(null);
          }}
        >
          <p>Requests with it get 401 at once. This cannot be undone. To replace the key without a gap, rotate it.</p>
        </Confirm>
      )}
      {asked?.act === "rotate" && <RotateKey base={base} apiKey={asked.key} onClose={close} onMade={changed} />}
      {made !== null && (
        <Dialog title={`${nameOf(made)} is ready`} onClose={() => setMade(null)} wide>
          <NewKey apiKey={made.api_key} />
        </Dialog>
      )}
    </>
  );
}

const nameOf = ({ label, id }: ApiKey): string => label ?? shortId(id);

interface TableProps {
  room: Room;
  keys: readonly ApiKey[];
  onAsk(asked: Asked): void;
}

function KeyTable({ room, keys, onAsk }: TableProps) {
  return (
    <Table head={["Key", "May", "Last used", "Made", "Ends", room.canManage && ACTIONS]}>
      {keys.map((key) => (
        <tr key={key.id} class={key.state === "in_force" ? undefined : "row-ended"}>
          <th scope="row">
            {nameOf(key)} <Badge tone={STATES[key.state][1]}>{STATES[key.state][0]}</Badge>
            <br />
            <code class="faint small" title={key.id}>
              {shortId(key.id)}
            </code>
          </th>
          <td data-label="May">
            <span title={SCOPE_WORDS[key.scope]}>{key.scope}</span>
            {key.agents !== null && <span class="faint small"> · only {key.agents.join(", ")}</span>}
          </td>
          <td data-label="Last used">
            <TimeOr at={key.last_used_at} none="never" />
          </td>
          <td data-label="Made">
            <Time at={key.created_at} /> <span class="faint small">by </span>
            <span class="small">
              <Actor id={key.created_by} />
            </span>
          </td>
          <td data-label="Ends">
            <TimeOr at={key.revoked_at ?? key.expires_at} none="never" />
          </td>
          {room.canManage && (
            <td class="row-end-cell">
              {key.state === "in_force" && (
                <span class="row row-tight">
                  <Button small aria-label={`Rotate ${nameOf(key)}`} onClick={() => onAsk({ act: "rotate", key })}>
                    Rotate
                  </Button>
                  <Button
                    kind="danger-quiet"
                    small
                    aria-label={`Revoke ${nameOf(key)}`}
                    onClick={() => onAsk({ act: "revoke", key })}
                  >
                    Revoke
                  </Button>
                </span>
              )}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

interface MakeProps {
  base: string;
  onClose(): void;
  onMade(key: NewApiKey): void;
}

const EXPIRIES = [
  ["", "Never"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
] as const;

function CreateKey({ base, onClose, onMade }: MakeProps) {
  const label = useText();
  const [scope, setScope] = useState<Scope>("agent");
  const agents = useText();
  const days = useText();
  const create = useAction(async () => {
    const named = agents.value.split(/[\s,]+/).filter((id) => id !== "");
    const body = {
      scope,
      ...(label.value === "" ? {} : { label: label.value }),
      ...(named.length === 0 ? {} : { agents: named }),
      ...(days.value === "" ? {} : { expires_in_days: Number(days.value) }),
    };
    onMade(await ask<NewApiKey>(base, { body }));
    onClose();
  });
  return (
    <Dialog title="New API key" onClose={onClose}>
      <Form action={create} submit="Make the key">
        <TextField label="Label" hint="Who uses it, such as: support bot, production." {...label} param="label" />
        <Select
          label="May"
          hint={`May do: ${SCOPE_WORDS[scope]}.`}
          value={scope}
          onValue={(value) => setScope(value as Scope)}
          options={[
            ["agent", "agent: data and checkpoints"],
            ["full", "full: everything"],
            ["auditor", "auditor: reading the log"],
          ]}
        />
        <TextField
          label="Only these agents"
          hint="Ids, separated by commas. Empty: every agent."
          {...agents}
          param="agents"
          attributes={{ spellcheck: false }}
        />
        <Select label="Ends" {...days} options={EXPIRIES} />
      </Form>
    </Dialog>
  );
}

const OVERLAPS = [
  ["0", "At once"],
  ["1", "After an hour"],
  ["24", "After a day"],
  ["168", "After a week"],
  ["720", "After 30 days"],
] as const;

function RotateKey({ base, apiKey, onClose, onMade }: MakeProps & { apiKey: ApiKey }) {
  const hours = useText("24");
  return (
    <Confirm
      title={`Rotate ${nameOf(apiKey)}?`}
      action="Rotate"
      onClose={onClose}
      onConfirm={async () => {
        onMade(await ask<NewApiKey>(`${base}/${apiKey.id}/rotate`, { body: { overlap_hours: Number(hours.value) } }));
      }}
    >
      <p>
        This makes a new key with the same rights. Both work until the old one ends, so that nothing is interrupted.
      </p>
      <Select label="The old key ends" {...hours} options={OVERLAPS} />
    </Confirm>
  );
}
