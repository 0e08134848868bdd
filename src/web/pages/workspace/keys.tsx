/** The API keys of a workspace. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { ApiKey, NewApiKey, Scope } from "../../api/types.ts";
import { useItems } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { NewKey } from "../../ui/copy.tsx";
import { Confirm, Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, Select, TextField, useFields } from "../../ui/field.tsx";
import { Actor, Badge, learnActors, shortId, Time, TimeOr, type Tone } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { type SortColumn, SortHead, sorted } from "../../ui/lists/sort.tsx";
import { say } from "../../ui/notices.tsx";
import { ACTIONS, Empty, Heading, ShowItems, Table } from "../../ui/parts.tsx";
import { SCOPE_WORDS } from "../../ui/roles.ts";

const STATES: Record<ApiKey["state"], readonly [words: string, tone: Tone]> = {
  in_force: ["in force", "good"],
  expired: ["expired", "plain"],
  revoked: ["revoked", "plain"],
};

const endOf = ({ revoked_at, expires_at }: ApiKey): string => revoked_at ?? expires_at ?? "";

const COLUMNS: readonly SortColumn<ApiKey>[] = [
  { id: "key", name: "Key", by: ({ label, id }) => label ?? id },
  { id: "scope", name: "May", by: ({ scope }) => scope },
  { id: "used", name: "Last used", by: ({ last_used_at }) => last_used_at ?? "", isMostFirst: true },
  { id: "made", name: "Made", by: ({ created_at }) => created_at, isMostFirst: true },
  { id: "ends", name: "Ends", by: endOf, isMostFirst: true },
];

export function KeysPage() {
  const access = useAccess();
  const keys = useItems<ApiKey>(`${access.account}/keys`);
  /** A key that was just made is shown on the page, not in its row, since the row may disappear. */
  const [made, setMade] = useState<NewApiKey | null>(null);
  const changed = () => {
    keys.reload();
    void learnActors(access.id, true);
  };
  const onMade = (key: NewApiKey) => {
    setMade(key);
    changed();
  };
  const createButton = access.canManage && (
    <DialogButton kind="primary" dialog={<CreateKey onMade={onMade} />}>
      New key
    </DialogButton>
  );
  return (
    <>
      <Heading title="API keys" actions={createButton}>
        Agents send requests to this workspace with a key. Only a digest of each key is stored.
      </Heading>
      <ShowItems
        of={keys}
        empty={
          <Empty title="No key yet">
            <p>Make one for each agent or service, so that each can be revoked alone.</p>
            {createButton}
          </Empty>
        }
      >
        {(items) => <KeyTable keys={items} onMade={onMade} onChanged={changed} />}
      </ShowItems>
      {made !== null && (
        <Dialog title={`${nameOf(made, [])} is ready`} onClose={() => setMade(null)} once="I have kept the key" wide>
          <NewKey apiKey={made.api_key} />
        </Dialog>
      )}
    </>
  );
}

/** Returns how a key is called: its label, with the end of its id when others have the same label, as after a rotation. */
function nameOf({ label, id }: ApiKey, others: readonly ApiKey[]): string {
  if (label === null) return shortId(id);
  return others.some((other) => other.label === label && other.id !== id) ? `${label} (…${id.slice(-6)})` : label;
}

interface TableProps {
  keys: readonly ApiKey[];
  onMade(key: NewApiKey): void;
  onChanged(): void;
}

function KeyTable({ keys, onMade, onChanged }: TableProps) {
  const { canManage } = useAccess();
  return (
    <Table head={[...COLUMNS.map((column) => <SortHead key={column.id} column={column} />), canManage && ACTIONS]}>
      {sorted(keys, COLUMNS).map((key) => (
        <tr key={key.id} class={key.state === "in_force" ? undefined : "row-ended"}>
          <th scope="row">
            {key.label ?? shortId(key.id)} <Badge tone={STATES[key.state][1]}>{STATES[key.state][0]}</Badge>
            <br />
            <code class="faint small" title={key.id}>
              {shortId(key.id)}
            </code>
            <Succession of={key} among={keys} />
          </th>
          <td data-label="May">
            <span title={SCOPE_WORDS[key.scope]}>{key.scope}</span>
            {key.agents !== null && <span class="faint small"> · only {key.agents.join(", ")}</span>}
            {key.networks !== null && <span class="faint small"> · from {key.networks.join(", ")}</span>}
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
          {canManage && (
            <td class="actions">
              {key.state === "in_force" && (
                <KeyActions apiKey={key} name={nameOf(key, keys)} {...{ onMade, onChanged }} />
              )}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

/** Which key a rotation made of a key, and which one it was made of. */
function Succession({ of, among }: { of: ApiKey; among: readonly ApiKey[] }) {
  const older = among.find(({ replaced_by }) => replaced_by === of.id);
  return (
    <>
      {of.replaced_by !== null && (
        <span class="faint small part-note">
          replaced by <code title={of.replaced_by}>{shortId(of.replaced_by)}</code>
        </span>
      )}
      {older !== undefined && (
        <span class="faint small part-note">
          replaces <code title={older.id}>{shortId(older.id)}</code>
        </span>
      )}
    </>
  );
}

interface ActionsProps {
  apiKey: ApiKey;
  name: string;
  onMade(key: NewApiKey): void;
  onChanged(): void;
}

function KeyActions({ apiKey, name, onMade, onChanged }: ActionsProps) {
  return (
    <span class="row row-tight">
      {apiKey.replaced_by === null && (
        <DialogButton small aria-label={`Rotate ${name}`} dialog={<RotateKey {...{ apiKey, name, onMade }} />}>
          Rotate
        </DialogButton>
      )}
      <DialogButton small aria-label={`Networks of ${name}`} dialog={<LimitKey {...{ apiKey, name, onChanged }} />}>
        Networks
      </DialogButton>
      <DialogButton
        kind="danger-quiet"
        small
        aria-label={`Revoke ${name}`}
        dialog={<RevokeKey {...{ apiKey, name, onChanged }} />}
      >
        Revoke
      </DialogButton>
    </span>
  );
}

function RevokeKey({ apiKey, name, onChanged }: Omit<ActionsProps, "onMade">) {
  const { account } = useAccess();
  const revoke = async () => {
    await ask(`${account}/keys/${apiKey.id}`, { method: "DELETE" });
    say(`The key ${name}`, "is revoked: requests with it are refused.");
    onChanged();
  };
  return (
    <Confirm title={`Revoke ${name}?`} action="Revoke now" danger onConfirm={revoke}>
      <p>Requests with it get 401 at once. This cannot be undone. To replace the key without a gap, rotate it.</p>
    </Confirm>
  );
}

/** Returns the items of a list that a person typed. */
const itemsOf = (text: string): string[] => text.split(/[\s,]+/).filter((item) => item !== "");

const NETWORKS = {
  label: "Only from these networks",
  hint: "Addresses or networks such as 10.0.0.0/8, separated by commas. Empty: from everywhere.",
  spellcheck: false,
};

function LimitKey({ apiKey, name, onChanged }: Omit<ActionsProps, "onMade">) {
  const { account } = useAccess();
  const { field, values } = useFields({ networks: apiKey.networks?.join(", ") ?? "" });
  const limit = async () => {
    const networks = itemsOf(values.networks);
    const body = { networks: networks.length === 0 ? null : networks };
    await ask(`${account}/keys/${apiKey.id}`, { method: "PUT", body });
    say(`The networks of ${name}`, "are changed and in force.");
    onChanged();
  };
  return (
    <Confirm title={`Networks of ${name}`} action="Change" onConfirm={limit}>
      <p>Requests with this key from any other address get 403.</p>
      <TextField {...NETWORKS} {...field("networks")} />
    </Confirm>
  );
}

const EXPIRIES = [
  ["", "Never"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
] as const;

function CreateKey({ onMade }: { onMade(key: NewApiKey): void }) {
  const close = useClose();
  const { account } = useAccess();
  const { field, values } = useFields({ label: "", scope: "agent", agents: "", networks: "", expires_in_days: "" });
  const create = async () => {
    const { label, scope, agents, networks, expires_in_days } = values;
    const named = itemsOf(agents);
    const limits = itemsOf(networks);
    const body = {
      scope,
      ...(label !== "" && { label }),
      ...(named.length > 0 && { agents: named }),
      ...(limits.length > 0 && { networks: limits }),
      ...(expires_in_days !== "" && { expires_in_days: Number(expires_in_days) }),
    };
    const made = await ask<NewApiKey>(`${account}/keys`, { body });
    close();
    onMade(made);
  };
  return (
    <Dialog title="New API key">
      <Form onSubmit={create} submit="Make the key">
        <TextField label="Label" hint="Who uses it, such as: support bot, production." {...field("label")} />
        <Select
          label="May"
          hint={`May do: ${SCOPE_WORDS[values.scope as Scope]}.`}
          {...field("scope")}
          options={[
            ["agent", "agent: data and checkpoints"],
            ["full", "full: everything"],
            ["auditor", "auditor: reading the log"],
          ]}
        />
        <TextField
          label="Only these agents"
          hint="Ids, separated by commas. Empty: every agent."
          {...field("agents")}
          spellcheck={false}
        />
        <TextField {...NETWORKS} {...field("networks")} />
        <Select label="Ends" {...field("expires_in_days")} options={EXPIRIES} />
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

function RotateKey({ apiKey, name, onMade }: Omit<ActionsProps, "onChanged">) {
  const { account } = useAccess();
  const { field, values } = useFields({ overlap_hours: "24" });
  const rotate = async () => {
    const body = { overlap_hours: Number(values.overlap_hours) };
    onMade(await ask<NewApiKey>(`${account}/keys/${apiKey.id}/rotate`, { body }));
  };
  return (
    <Confirm title={`Rotate ${name}?`} action="Rotate" onConfirm={rotate}>
      <p>
        This makes a new key with the same rights. Both work until the old one ends, so that nothing is interrupted.
      </p>
      <Select label="The old key ends" {...field("overlap_hours")} options={OVERLAPS} />
    </Confirm>
  );
}
