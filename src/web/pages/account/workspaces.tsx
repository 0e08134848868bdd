/** The user's workspaces, and making another one. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { NewWorkspace } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { session, updateSession } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { NewKey } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form, TextField, useText } from "../../ui/field.tsx";
import { Empty, Heading } from "../../ui/parts.tsx";

export function WorkspacesPage() {
  const [making, setMaking] = useState(false);
  if (session.value.kind !== "in") return null;
  const { workspaces } = session.value;
  return (
    <>
      <Heading
        title="Workspaces"
        name="Workspaces"
        actions={
          <Button kind="primary" onClick={() => setMaking(true)}>
            New workspace
          </Button>
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
          {workspaces.map(({ id, name, role }) => (
            <li key={id}>
              <a class="card card-link" href={paths.workspace(id)}>
                <strong>{name}</strong>
                <Badge>{role}</Badge>
                <code class="faint small">{id}</code>
              </a>
            </li>
          ))}
        </ul>
      )}
      {making && <MakeWorkspace onClose={() => setMaking(false)} />}
    </>
  );
}

function MakeWorkspace({ onClose }: { onClose(): void }) {
  const name = useText();
  const [made, setMade] = useState<NewWorkspace | null>(null);
  const make = useAction(async () => {
    const result = await ask<NewWorkspace>("/account/workspaces", { body: { name: name.value } });
    setMade(result);
    updateSession(({ workspaces }) => ({ workspaces: [...workspaces, result.workspace] }));
  });
  if (made !== null) {
    return (
      <Dialog title={`${made.workspace.name} is ready`} onClose={onClose} wide>
        <NewKey apiKey={made.api_key} />
        <div class="row row-end">
          <a class="button button-primary" href={paths.workspace(made.workspace.id)}>
            Go to the workspace
          </a>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New workspace" onClose={onClose}>
      <Form action={make} submit="Make the workspace">
        <TextField label="Name" {...name} param="name" attributes={{ required: true }} />
      </Form>
    </Dialog>
  );
}
