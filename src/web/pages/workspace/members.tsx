/** The members of a workspace and its open invitations. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { Invitation, Member, NewInvitation, Role } from "../../api/types.ts";
import { useAction, useItems } from "../../state/load.ts";
import { go } from "../../state/router.ts";
import { loadSession, type Room } from "../../state/session.ts";
import { learnActors } from "../../ui/actor.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyBlock } from "../../ui/copy.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { Form, Select, TextField, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { ACTIONS, Empty, Heading, Section, Show, Table } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { ROLE_WORDS } from "../../ui/roles.ts";
import { Time } from "../../ui/time.tsx";

const ROLES = [
  ["owner", "owner"],
  ["member", "member"],
  ["auditor", "auditor"],
] as const;

export function MembersPage({ room }: { room: Room }) {
  const base = `/account/workspaces/${room.workspace.id}`;
  const members = useItems<Member>(`${base}/members`);
  const [inviting, setInviting] = useState(false);
  const [round, setRound] = useState(0);
  const [removing, setRemoving] = useState<Member | null>(null);
  return (
    <>
      <Heading
        title="Members"
        name="Members"
        actions={
          room.canManage && (
            <Button kind="primary" onClick={() => setInviting(true)}>
              Invite …
            </Button>
          )
        }
      >
        People who sign in here. Agents and services use API keys instead.
      </Heading>
      <Show of={members}>
        {(items) => (
          <MemberTable
            items={items}
            base={base}
            canManage={room.canManage}
            onChanged={members.reload}
            onRemove={setRemoving}
          />
        )}
      </Show>
      {room.canManage && <Invitations key={round} base={base} />}
      {inviting && (
        <Invite
          base={base}
          onClose={() => {
            setInviting(false);
            setRound(round + 1);
          }}
        />
      )}
      {removing !== null && (
        <Confirm
          title={removing.you ? "Leave this workspace?" : `Remove ${removing.name}?`}
          action={removing.you ? "Leave" : "Remove"}
          danger
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await ask(`${base}/members/${removing.account_id}`, { method: "DELETE" });
            if (removing.you) {
              await loadSession();
              go("/workspaces");
              return;
            }
            members.reload();
            void learnActors(room.workspace.id, true);
          }}
        >
          <p>
            {removing.you ? "You lose" : "They lose"} access at once. What was done stays in the audit log. API keys
            that {removing.you ? "you" : "they"} know keep working: revoke them too.
          </p>
        </Confirm>
      )}
    </>
  );
}

interface TableProps {
  items: readonly Member[];
  base: string;
  canManage: boolean;
  onChanged(): void;
  onRemove(member: Member): void;
}

function MemberTable({ items, base, canManage, onChanged, onRemove }: TableProps) {
  const change = useAction(async (member: Member, role: Role) => {
    await ask(`${base}/members/${member.account_id}`, { method: "PUT", body: { role } });
    say(`${member.name} is ${role} now.`);
    if (member.you) await loadSession();
    onChanged();
  });
  return (
    <>
      <Problem problem={change.problem} />
      <Table head={["Member", "Role", "Since", ACTIONS]}>
        {items.map((member) => (
          <tr key={member.account_id}>
            <th scope="row">
              {member.name} {member.you && <Badge>you</Badge>}
              <br />
              <span class="faint small">{member.email}</span>
            </th>
            <td data-label="Role">
              {canManage ? (
                <select
                  aria-label={`Role of ${member.name}`}
                  value={member.role}
                  disabled={change.busy}
                  onChange={(event) => change.run(member, event.currentTarget.value as Role)}
                >
                  {ROLES.map(([role]) => (
                    <option key={role} value={role}>
                      {role}
                    </option>
                  ))}
                </select>
              ) : (
                <span title={ROLE_WORDS[member.role]}>{member.role}</span>
              )}
            </td>
            <td data-label="Since">
              <Time at={member.joined_at} />
            </td>
            <td class="row-end-cell">
              {(canManage || member.you) && (
                <Button
                  kind="danger-quiet"
                  small
                  aria-label={member.you ? "Leave the workspace" : `Remove ${member.name}`}
                  onClick={() => onRemove(member)}
                >
                  {member.you ? "Leave" : "Remove"}
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function Invitations({ base }: { base: string }) {
  const invitations = useItems<Invitation>(`${base}/invitations`);
  const withdraw = useAction(async (id: string) => {
    await ask(`${base}/invitations/${id}`, { method: "DELETE" });
    invitations.reload();
  });
  return (
    <Section title="Open invitations">
      <Problem problem={withdraw.problem} />
      <Show of={invitations}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="No open invitation">
              <p>An invitation is a link that you hand over yourself; the daemon sends no mail.</p>
            </Empty>
          ) : (
            <ul class="card-list">
              {items.map((invitation) => (
                <li key={invitation.id} class="card card-row">
                  <div>
                    <strong>{invitation.label ?? "Invitation"}</strong> <Badge>{invitation.role}</Badge>
                    <div class="faint small">
                      made <Time at={invitation.created_at} />, ends <Time at={invitation.expires_at} />
                    </div>
                  </div>
                  <Button
                    kind="danger-quiet"
                    small
                    disabled={withdraw.busy}
                    onClick={() => withdraw.run(invitation.id)}
                  >
                    Withdraw
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </Section>
  );
}

function Invite({ base, onClose }: { base: string; onClose(): void }) {
  const [role, setRole] = useState<Role>("member");
  const label = useText();
  const [made, setMade] = useState<NewInvitation | null>(null);
  const invite = useAction(async () => {
    const body = { role, ...(label.value === "" ? {} : { label: label.value }) };
    setMade(await ask<NewInvitation>(`${base}/invitations`, { body }));
  });
  if (made !== null) {
    return (
      <Dialog title="Hand over this link" onClose={onClose} wide>
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
    <Dialog title="Invite somebody" onClose={onClose}>
      <Form action={invite} submit="Make the link">
        <Select
          label="Role"
          hint={`May do: ${ROLE_WORDS[role]}`}
          value={role}
          onValue={(value) => setRole(value as Role)}
          options={ROLES}
        />
        <TextField label="For" hint="Optional, so that you recognise the invitation later." {...label} param="label" />
      </Form>
    </Dialog>
  );
}
