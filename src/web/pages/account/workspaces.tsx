/** The user's workspaces, and making another one. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { NewWorkspace } from "../../api/types.ts";
import { go, paths } from "../../state/router.ts";
import { session, updateSession } from "../../state/session.ts";
import { NewKey } from "../../ui/copy.tsx";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, TextField, useFields } from "../../ui/field.tsx";
import { Badge } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { Empty, Heading } from "../../ui/parts.tsx";

export function WorkspacesPage() {
  if (session.value.kind !== "in") return null;
  const { workspaces } = session.value;
  return (
    <>
      <Heading
        title="Workspaces"
        actions={
          <DialogButton kind="primary" dialog={<MakeWorkspace />}>
            New workspace
          </DialogButton>
        }
      >
        Each has its own agents, members, keys and audit log.
      </Heading>
      {workspaces.length === 0 ? (
        <Empty title="You are in no workspace">
          <p>Ask an owner for an invitation, or make a workspace of your own.</p>
        </Empty>
      ) : (
        <ul class="card-list">
          {workspaces.map(({ id, name, role, locked }) => (
            <li key={id}>
              <a class="card card-link" href={paths.workspace(id)}>
                <strong>{name}</strong>
                <Badge>{role}</Badge>
                {locked && <Badge tone="warn">requires a second factor</Badge>}
                <code class="faint small">{id}</code>
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function MakeWorkspace() {
  const close = useClose();
  const { field, values } = useFields({ name: "" });
  const [made, setMade] = useState<NewWorkspace | null>(null);
  const make = async () => {
    const result = await ask<NewWorkspace>("/account/workspaces", { body: values });
    setMade(result);
    updateSession(({ workspaces }) => ({ workspaces: [...workspaces, result.workspace] }));
  };
  if (made !== null) {
    const enter = () => {
      close();
      go(paths.workspace(made.workspace.id));
    };
    return (
      <Dialog title={`${made.workspace.name} is ready`} onClose={enter} once="I have kept the key" wide>
        <NewKey apiKey={made.api_key} />
      </Dialog>
    );
  }
  return (
    <Dialog title="New workspace">
      <Form onSubmit={make} submit="Make the workspace">
        <TextField label="Name" {...field("name")} required />
      </Form>
    </Dialog>
  );
}
