/** The API keys of a workspace: who may send requests, and until when. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { ApiKey, NewApiKey, Scope } from "../../api/types.ts";
import { learnActors, shortId } from "../../state/actors.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Select, TextField } from "../../ui/field.tsx";
import { NewKey } from "../../ui/new-key.tsx";
import { Empty, Heading, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
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
  const keys = useLoad<ApiKey[]>(room.workspace.id, async (signal) => {
    const { data } = await ask<{ data: ApiKey[] }>(base, { signal });
    return data;
  });
  const [asked, setAsked] = useState<Asked>(null);
  const [made, setMade] = useState<NewApiKey | null>(null);
  const close = () => setAsked(null);
  const changed = (key: NewApiKey | null) => {
    setMade(key);
    keys.reload();
    void learnActors(room.workspace.id, true);
  };
  const createButton = room.canManage && (
    <button type="button" class="button button-primary" onClick={() => setAsked({ act: "create" })}>
      New key
    </button>
  );
  return (
    <>
      <Heading title="API keys" name="API keys" actions={createButton}>
        With a key an agent sends requests to this workspace. Only a digest of each is stored.
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
            say("Revoked: requests with it are refused from now on.");
            changed(null);
          }}
        >
          <p>
            Whoever uses it gets 401 at once. It cannot be taken back; to replace it without a gap, rotate it.
          </p>
        </Confirm>
      )}
      {asked?.act === "rotate" && (
        <RotateKey base={base} apiKey={asked.key} onClose={close} onMade={changed} />
      )}
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
    <div class="table-frame">
      <table class="table table-cards">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">May</th>
            <th scope="col">Last used</th>
            <th scope="col">Made</th>
            <th scope="col">Ends</th>
            {room.canManage && (
              <th scope="col">
                <span class="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
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
                      <button
                        type="button"
                        class="button button-small"
                        aria-label={`Rotate ${nameOf(key)}`}
                        onClick={() => onAsk({ act: "rotate", key })}
                      >
                        Rotate
                      </button>
                      <button
                        type="button"
                        class="button button-small button-danger-quiet"
                        aria-label={`Revoke ${nameOf(key)}`}
                        onClick={() => onAsk({ act: "revoke", key })}
                      >
                        Revoke
                      </button>
                    </span>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
  const [label, setLabel] = useState("");
  const [scope, setScope] = useState<Scope>("agent");
  const [agents, setAgents] = useState("");
  const [days, setDays] = useState("");
  const create = useAction(async () => {
    const named = agents.split(/[\s,]+/).filter((id) => id !== "");
    const body = {
      scope,
      ...(label === "" ? {} : { label }),
      ...(named.length === 0 ? {} : { agents: named }),
      ...(days === "" ? {} : { expires_in_days: Number(days) }),
    };
    onMade(await ask<NewApiKey>(base, { body }));
    onClose();
  });
  const { problem } = create;
  return (
    <Dialog title="New API key" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create.run();
        }}
      >
        <TextField
          label="Label"
          hint="Who uses it, such as: support bot, production."
          value={label}
          onValue={setLabel}
          problem={problem}
          param="label"
        />
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
          hint="Ids, divided by commas. Empty: every agent."
          value={agents}
          onValue={setAgents}
          problem={problem}
          param="agents"
          attributes={{ spellcheck: false }}
        />
        <Select label="Ends" value={days} onValue={setDays} options={EXPIRIES} />
        <Problem problem={problem} />
        <div class="row row-end">
          <button type="submit" class="button button-primary" disabled={create.busy}>
            Make the key
          </button>
        </div>
      </form>
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
  const [hours, setHours] = useState("24");
  return (
    <Confirm
      title={`Rotate ${nameOf(apiKey)}?`}
      action="Rotate"
      onClose={onClose}
      onConfirm={async () => {
        onMade(
          await ask<NewApiKey>(`${base}/${apiKey.id}/rotate`, { body: { overlap_hours: Number(hours) } }),
        );
      }}
    >
      <p>
        A new key with the same rights is made. Until the old one ends, both work, so that nothing is
        interrupted.
      </p>
      <Select label="The old key ends" value={hours} onValue={setHours} options={OVERLAPS} />
    </Confirm>
  );
}
