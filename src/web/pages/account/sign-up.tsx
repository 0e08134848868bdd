/**
 * New accounts: signing up, with a workspace whose first key is shown only once, and accepting an invitation, with the
 * account that is signed in, with another one, or with a new one.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { LinkInfo, SignUpResult, Workspace } from "../../api/types.ts";
import { useAction, useAsk, useLoad } from "../../state/load.ts";
import { go, paths } from "../../state/router.ts";
import { loadSession, session } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock, NewKey } from "../../ui/copy.tsx";
import { Form, TextField, useFields } from "../../ui/field.tsx";
import { useHold } from "../../ui/leave.ts";
import { Problem, Show } from "../../ui/parts.tsx";
import { ROLE_WORDS } from "../../ui/roles.ts";
import { LinkPage, SignedOutPage, takeToken } from "../../ui/signed-out-page.tsx";
import { Email, NewPassword } from "./fields.tsx";
import { SignInForm } from "./sign-in.tsx";

/** Loads the session of the new member and goes to the workspace. */
async function enter(workspace: { id: string }): Promise<void> {
  await loadSession();
  go(paths.workspace(workspace.id));
}

export function SignUpPage() {
  const [token] = useState(takeToken);
  const [made, setMade] = useState<SignUpResult | null>(null);
  const link = useLoad("link", async (signal) => {
    if (token !== null) await ask("/account/links/inspect", { body: { token }, signal });
    return true;
  });
  if (made !== null) return <Welcome made={made} />;
  return (
    <SignedOutPage title="Make your account">
      <Show of={link}>{() => <SignUpForm token={token} withWorkspace onMade={setMade} />}</Show>
    </SignedOutPage>
  );
}

interface SignUpFormProps {
  token: string | null;
  /** The account gets its own workspace. */
  withWorkspace: boolean;
  onMade(made: SignUpResult): void;
}

function SignUpForm({ token, withWorkspace, onMade }: SignUpFormProps) {
  const { field, values, filled } = useFields({ name: "", email: "", password: "", workspace_name: "" });
  const signUp = async () => {
    const body = { ...filled, email: values.email, password: values.password, ...(token !== null && { token }) };
    onMade(await ask<SignUpResult>("/account/sign-up", { body }));
  };
  return (
    <Form onSubmit={signUp} submit="Make the account" at="signed-out">
      <TextField label="Your name" hint="Optional; other members see it." {...field("name")} autocomplete="name" />
      <Email {...field("email")} hint="To sign in with. The daemon sends no mail." />
      <NewPassword label="Password" {...field("password")} note="; a few unrelated words do well." />
      {withWorkspace && (
        <TextField
          label="Workspace"
          hint="Optional. A workspace holds agents, their data and one audit log. Use the name of the team or the product."
          {...field("workspace_name")}
        />
      )}
    </Form>
  );
}

/** Shows what the user needs next: the workspace, the key, a request that works. */
function Welcome({ made }: { made: SignUpResult }) {
  const heading = useRef<HTMLParagraphElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const leave = useAction(() => enter(made.workspace));
  useHold(made.api_key !== null && !leave.busy, () => heading.current?.focus());
  return (
    <SignedOutPage title="You are in" wide>
      <div class="stack">
        <p ref={heading} tabIndex={-1}>
          <strong>{made.workspace.name}</strong> is ready. Its id, which some requests name:
        </p>
        <CopyBlock label="Workspace id" text={made.workspace_id} />
        {made.api_key !== null && <NewKey apiKey={made.api_key} />}
        <Button kind="primary" action={leave}>
          {made.api_key === null ? "Go to the workspace" : "I have kept the key"}
        </Button>
      </div>
    </SignedOutPage>
  );
}

export function JoinPage() {
  return <LinkPage title="Join a workspace">{(token) => <Join token={token} />}</LinkPage>;
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
