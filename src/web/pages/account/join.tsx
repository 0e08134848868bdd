/** Accepting an invitation: with the account that one is signed in with, another one, or a new one. */
import { useRef, useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { LinkInfo, Workspace } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { go } from "../../state/router.ts";
import { loadSession, session } from "../../state/session.ts";
import { Door, takeToken } from "../../ui/door.tsx";
import { Empty, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { ROLE_WORDS } from "../../ui/roles.ts";
import { SignInForm } from "./sign-in.tsx";
import { SignUpForm } from "./sign-up.tsx";

export function JoinPage() {
  const taken = useRef<string | null | undefined>(undefined);
  if (taken.current === undefined) taken.current = takeToken();
  const token = taken.current;
  return (
    <Door title="Join a workspace">
      {token === null ? (
        <Empty title="The link is incomplete">
          <p>Open the whole link that you were given; its last part is the invitation.</p>
        </Empty>
      ) : (
        <Join token={token} />
      )}
    </Door>
  );
}

function Join({ token }: { token: string }) {
  const link = useLoad("link", (signal) =>
    ask<LinkInfo>("/account/links/inspect", { body: { token }, signal }),
  );
  return (
    <Show of={link}>
      {(info) => (
        <div class="stack">
          <p>
            You are invited to <strong>{info.workspace?.name ?? "a workspace"}</strong>
            {info.role !== null && (
              <>
                {" "}
                as <strong>{info.role}</strong>: {ROLE_WORDS[info.role]}
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

async function accept(token: string): Promise<void> {
  const workspace = await ask<Workspace>("/account/invitations/accept", { body: { token } });
  await loadSession();
  go(paths.workspace(workspace.id));
}

function Accept({ token, email }: { token: string; email: string }) {
  const join = useAction(() => accept(token));
  return (
    <>
      <Problem problem={join.problem} />
      <button type="button" class="button button-primary" disabled={join.busy} onClick={() => join.run()}>
        Join as {email}
      </button>
    </>
  );
}

function WithAccount({ token }: { token: string }) {
  const [known, setKnown] = useState(false);
  return (
    <>
      {known ? (
        <SignInForm
          // The session is known here only after, so that this page stays until the invitation is accepted.
          onSignedIn={() => accept(token)}
        />
      ) : (
        <SignUpForm
          token={token}
          withWorkspace={false}
          onMade={async (made) => {
            await loadSession();
            go(paths.workspace(made.workspace.id));
          }}
        />
      )}
      <button type="button" class="link" onClick={() => setKnown(!known)}>
        {known ? "I have no account yet" : "I have an account already"}
      </button>
    </>
  );
}
