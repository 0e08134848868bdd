/** Accepting an invitation: with the account that is signed in, with another one, or with a new one. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { LinkInfo, Workspace } from "../../api/types.ts";
import { useAction, useAsk } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { go } from "../../state/router.ts";
import { loadSession, session } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { IncompleteLink, LinkDoor } from "../../ui/door.tsx";
import { Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { ROLE_WORDS } from "../../ui/roles.ts";
import { SignInForm } from "./sign-in.tsx";
import { SignUpForm } from "./sign-up.tsx";

export function JoinPage() {
  return (
    <LinkDoor title="Join a workspace">
      {(token) => (token === null ? <IncompleteLink /> : <Join token={token} />)}
    </LinkDoor>
  );
}

function Join({ token }: { token: string }) {
  const link = useAsk<LinkInfo>("/account/links/inspect", { body: { token } });
  return (
    <Show of={link}>
      {({ workspace, role }) => (
        <div class="stack">
          <p>
            You are invited to <strong>{workspace?.name ?? "a workspace"}</strong>
            {role !== null && (
              <>
                {" "}
                as <strong>{role}</strong>: {ROLE_WORDS[role]}
              </>
            )}
          </p>
          {session.value.kind === "in" ? (
            <Accept token={token} email={session.value.account.email} />
          ) : (
            <WithAccount token={token} />
          )}
        </div>
      )}
    </Show>
  );
}

async function enter(workspace: { id: string }): Promise<void> {
  await loadSession();
  go(paths.workspace(workspace.id));
}

const accept = async (token: string): Promise<void> =>
  enter(await ask<Workspace>("/account/invitations/accept", { body: { token } }));

function Accept({ token, email }: { token: string; email: string }) {
  const join = useAction(() => accept(token));
  return (
    <>
      <Problem problem={join.problem} />
      <Button kind="primary" action={join}>
        Join as {email}
      </Button>
    </>
  );
}

function WithAccount({ token }: { token: string }) {
  const [known, setKnown] = useState(false);
  return (
    <>
      {known ? (
        // Accepting comes before the session is loaded, so that this page stays until then.
        <SignInForm onSignedIn={() => accept(token)} />
      ) : (
        <SignUpForm token={token} withWorkspace={false} onMade={({ workspace }) => void enter(workspace)} />
      )}
      <button type="button" class="link" onClick={() => setKnown(!known)}>
        {known ? "I have no account yet" : "I already have an account"}
      </button>
    </>
  );
}
