/** The members of a workspace and its open invitations. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { Invitation, Member, NewInvitation, Role } from "../../api/types.ts";
import { useAction, useItems } from "../../state/load.ts";
import { go } from "../../state/router.ts";
import { loadSession, useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock } from "../../ui/copy.tsx";
import { Confirm, Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Check, Form, Select, TextField, useFields } from "../../ui/field.tsx";
import { Badge, learnActors, Time } from "../../ui/inline.tsx";
import { type SortColumn, SortHead, sorted } from "../../ui/lists/sort.tsx";
import { say } from "../../ui/notices.tsx";
import { ACTIONS, Empty, Heading, Problem, Section, ShowItems, Table } from "../../ui/parts.tsx";
import { ROLE_WORDS } from "../../ui/roles.ts";

const ROLES = (["owner", "member", "auditor"] as const).map((role) => [role, role] as const);

export function MembersPage() {
  const access = useAccess();
  const members = useItems<Member>(`${access.account}/members`);
  const [round, setRound] = useState(0);
  const removed = () => {
    members.reload();
    void learnActors(access.id, true);
  };
  return (
    <>
      <Heading
        title="Members"
        actions={
          access.canManage && (
            <DialogButton kind="primary" dialog={<Invite />} onClosed={() => setRound(round + 1)}>
              Invite …
            </DialogButton>
          )
        }
      >
        People who sign in here. Agents and services use API keys instead.
      </Heading>
      <ShowItems of={members} empty={null}>
        {(items) => <MemberTable items={items} onChanged={members.reload} onRemoved={removed} />}
      </ShowItems>
      {access.canManage && <Invitations key={round} />}
      {access.canManage && <SecondFactor />}
    </>
  );
}

interface TableProps {
  items: readonly Member[];
  onChanged(): void;
  onRemoved(): void;
}

const COLUMNS: readonly SortColumn<Member>[] = [
  { id: "name", name: "Member", by: ({ name }) => name.toLowerCase() },
  { id: "role", name: "Role", by: ({ role }) => role },
  { id: "since", name: "Since", by: ({ joined_at }) => joined_at, isMostFirst: true },
];

function MemberTable({ items, onChanged, onRemoved }: TableProps) {
  const { canManage } = useAccess();
  return (
    <Table head={[...COLUMNS.map((column) => <SortHead key={column.id} column={column} />), ACTIONS]}>
      {sorted(items, COLUMNS).map((member) => (
        <tr key={member.account_id}>
          <th scope="row">
            {member.name} {member.you && <Badge>you</Badge>}
            <br />
            <span class="faint small">{member.email}</span>
          </th>
          <td data-label="Role">
            <span title={ROLE_WORDS[member.role]}>{member.role}</span>
          </td>
          <td data-label="Since">
            <Time at={member.joined_at} />
          </td>
          <td class="actions">
            <span class="row row-tight">
              {canManage && (
                <DialogButton
                  small
                  aria-label={`Role of ${member.name}`}
                  dialog={<ChangeRole member={member} onChanged={onChanged} />}
                >
                  Role
                </DialogButton>
              )}
              {(canManage || member.you) && (
                <DialogButton
                  kind="danger-quiet"
                  small
                  aria-label={member.you ? "Leave the workspace" : `Remove ${member.name}`}
                  dialog={<Remove member={member} onRemoved={onRemoved} />}
                >
                  {member.you ? "Leave" : "Remove"}
                </DialogButton>
              )}
            </span>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function ChangeRole({ member, onChanged }: { member: Member; onChanged(): void }) {
  const { account } = useAccess();
  const { field, values } = useFields({ role: member.role });
  const change = async () => {
    await ask(`${account}/members/${member.account_id}`, { method: "PUT", body: values });
    say(member.name, `is ${values.role} now.`);
    if (member.you) await loadSession();
    onChanged();
  };
  return (
    <Confirm title={`Role of ${member.name}`} action="Change the role" onConfirm={change}>
      <Select label="Role" hint={`May do: ${ROLE_WORDS[values.role]}`} {...field("role")} options={ROLES} />
    </Confirm>
  );
}

function Remove({ member: { account_id, name, you }, onRemoved }: { member: Member; onRemoved(): void }) {
  const { account } = useAccess();
  const remove = async () => {
    await ask(`${account}/members/${account_id}`, { method: "DELETE" });
    if (!you) {
      say(name, "is no longer a member of this workspace.");
      onRemoved();
      return;
    }
    await loadSession();
    go("/workspaces");
  };
  return (
    <Confirm
      title={you ? "Leave this workspace?" : `Remove ${name}?`}
      action={you ? "Leave" : "Remove"}
      danger
      onConfirm={remove}
    >
      <p>
        {you ? "You lose" : "They lose"} access at once. What was done stays in the audit log. API keys that{" "}
        {you ? "you" : "they"} know keep working: revoke them too.
      </p>
    </Confirm>
  );
}

function SecondFactor() {
  const { account, requiresSecondFactor } = useAccess();
  const change = useAction(async (required: boolean) => {
    await ask(account, { method: "PUT", body: { require_second_factor: required } });
    await loadSession();
    say("A second factor", required ? "is needed by every member now." : "is optional now.");
  });
  return (
    <Section title="Second factor">
      <Problem problem={change.problem} />
      <Check
        label="Members need a second factor"
        hint="Members without one can only turn one on, or leave. API keys are not affected."
        checked={requiresSecondFactor}
        disabled={change.busy}
        onChecked={change.run}
      />
    </Section>
  );
}

function Invitations() {
  const { account } = useAccess();
  const invitations = useItems<Invitation>(`${account}/invitations`);
  const withdraw = useAction(async (id: string) => {
    await ask(`${account}/invitations/${id}`, { method: "DELETE" });
    invitations.reload();
  });
  return (
    <Section title="Open invitations">
      <Problem problem={withdraw.problem} />
      <ShowItems
        of={invitations}
        empty={
          <Empty title="No open invitation">
            <p>An invitation is a link that you hand over yourself; the daemon sends no mail.</p>
          </Empty>
        }
      >
        {(items) => (
          <ul class="card-list">
            {items.map(({ id, label, role, created_at, expires_at }) => (
              <li key={id} class="card card-row">
                <div>
                  <strong>{label ?? "Invitation"}</strong> <Badge>{role}</Badge>
                  <div class="faint small">
                    made <Time at={created_at} />, ends <Time at={expires_at} />
                  </div>
                </div>
                <Button kind="danger-quiet" small disabled={withdraw.busy} onClick={() => withdraw.run(id)}>
                  Withdraw
                </Button>
              </li>
            ))}
          </ul>
        )}
      </ShowItems>
    </Section>
  );
}

function Invite() {
  const { account } = useAccess();
  const { field, values, filled } = useFields({ role: "member", label: "" });
  const [made, setMade] = useState<NewInvitation | null>(null);
  const invite = async () => setMade(await ask<NewInvitation>(`${account}/invitations`, { body: filled }));
  if (made !== null) {
    return (
      <Dialog title="Hand over this link" once="I have kept the link" wide>
        <div class="stack">
          <p>
            It works once, until <Time at={made.expires_at} />, and is shown only now. Whoever opens it becomes{" "}
            <strong>{made.role}</strong>.
          </p>
          <CopyBlock label="Invitation link" text={made.url} />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Invite somebody">
      <Form onSubmit={invite} submit="Make the link">
        <Select label="Role" hint={`May do: ${ROLE_WORDS[values.role as Role]}`} {...field("role")} options={ROLES} />
        <TextField label="For" hint="Optional, so that you recognise the invitation later." {...field("label")} />
      </Form>
    </Dialog>
  );
}
