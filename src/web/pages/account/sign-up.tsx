/** A new account with a workspace of its own; its first key is shown this once. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { SignUpResult } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { go } from "../../state/router.ts";
import { loadSession } from "../../state/session.ts";
import { CopyBlock } from "../../ui/copy.tsx";
import { Door, takeToken } from "../../ui/door.tsx";
import { TextField } from "../../ui/field.tsx";
import { NewKey } from "../../ui/new-key.tsx";
import { Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";

/** The daemon takes no shorter password. */
export const MIN_PASSWORD_LENGTH = 12;

export function SignUpPage() {
  const token = useRef<string | null | undefined>(undefined);
  if (token.current === undefined) token.current = takeToken();
  const [made, setMade] = useState<SignUpResult | null>(null);
  if (made !== null) return <Welcome made={made} />;
  return (
    <Door title="Make your account">
      <SignUp token={token.current} onMade={setMade} />
    </Door>
  );
}

function SignUp({ token, onMade }: { token: string | null; onMade(made: SignUpResult): void }) {
  const link = useLoad("link", async (signal) => {
    if (token !== null) await ask("/account/links/inspect", { body: { token }, signal });
    return true;
  });
  return <Show of={link}>{() => <SignUpForm token={token} withWorkspace onMade={onMade} />}</Show>;
}

interface SignUpFormProps {
  token: string | null;
  /** The account gets a workspace of its own. */
  withWorkspace: boolean;
  onMade(made: SignUpResult): void;
}

export function SignUpForm({ token, withWorkspace, onMade }: SignUpFormProps) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [workspace, setWorkspace] = useState("");
  const signUp = useAction(async () => {
    const body = {
      email,
      password,
      ...(name === "" ? {} : { name }),
      ...(withWorkspace && workspace !== "" ? { workspace_name: workspace } : {}),
      ...(token === null ? {} : { token }),
    };
    onMade(await ask<SignUpResult>("/account/sign-up", { body }));
  });
  const { problem } = signUp;
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void signUp.run();
      }}
    >
      <TextField
        label="Your name"
        hint="Optional; other members see it."
        value={name}
        onValue={setName}
        problem={problem}
        param="name"
        attributes={{ autocomplete: "name" }}
      />
      <TextField
        label="Email"
        hint="To sign in with. The daemon sends no mail."
        value={email}
        onValue={setEmail}
        problem={problem}
        param="email"
        attributes={{ type: "email", autocomplete: "username", required: true }}
      />
      <TextField
        label="Password"
        hint={`At least ${MIN_PASSWORD_LENGTH} characters; a few unrelated words do well.`}
        value={password}
        onValue={setPassword}
        problem={problem}
        param="password"
        attributes={{
          type: "password",
          autocomplete: "new-password",
          minLength: MIN_PASSWORD_LENGTH,
          required: true,
        }}
      />
      {withWorkspace && (
        <TextField
          label="Workspace"
          hint="A workspace holds agents, their data and one audit log. Take the team's or the product's name; optional."
          value={workspace}
          onValue={setWorkspace}
          problem={problem}
          param="workspace_name"
        />
      )}
      <Problem problem={problem} />
      <button type="submit" class="button button-primary button-wide" disabled={signUp.busy}>
        Make the account
      </button>
    </form>
  );
}

/** What one needs after the first minute: the workspace, the key, a request that works. */
function Welcome({ made }: { made: SignUpResult }) {
  const heading = useRef<HTMLParagraphElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const enter = useAction(async () => {
    await loadSession();
    go(paths.workspace(made.workspace.id));
  });
  return (
    <Door title="You are in" wide>
      <div class="stack">
        <p ref={heading} tabIndex={-1}>
          <strong>{made.workspace.name}</strong> is ready. Its id, which some requests name:
        </p>
        <CopyBlock label="Workspace id" text={made.workspace_id} />
        {made.api_key !== null && <NewKey apiKey={made.api_key} />}
        <button type="button" class="button button-primary" disabled={enter.busy} onClick={() => enter.run()}>
          {made.api_key === null ? "Go to the workspace" : "I have kept the key"}
        </button>
      </div>
    </Door>
  );
}
