/** The workspaces that one is a member of, and making another. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { NewWorkspace } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { session, updateSession } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { NewKey } from "../../ui/new-key.tsx";
import { Empty, Heading } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";

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
          <button type="button" class="button button-primary" onClick={() => setMaking(true)}>
            New workspace
          </button>
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
  const [name, setName] = useState("");
  const [made, setMade] = useState<NewWorkspace | null>(null);
  const make = useAction(async () => {
    const answer = await ask<NewWorkspace>("/account/workspaces", { body: { name } });
    setMade(answer);
    updateSession(({ workspaces }) => ({ workspaces: [...workspaces, answer.workspace] }));
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
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void make.run();
        }}
      >
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          problem={make.problem}
          param="name"
          attributes={{ required: true }}
        />
        <Problem problem={make.problem} />
        <div class="row row-end">
          <button type="submit" class="button button-primary" disabled={make.busy}>
            Make the workspace
          </button>
        </div>
      </form>
    </Dialog>
  );
}
