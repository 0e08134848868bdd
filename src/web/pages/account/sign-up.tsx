/** Signing up: a new account with its own workspace, whose first key is shown only once. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { SignUpResult } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import { go } from "../../state/router.ts";
import { loadSession } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock, NewKey } from "../../ui/copy.tsx";
import { Door, takeToken } from "../../ui/door.tsx";
import { Form, TextField, useText } from "../../ui/field.tsx";
import { Show } from "../../ui/parts.tsx";
import { Email, NewPassword } from "./fields.tsx";

export function SignUpPage() {
  const [token] = useState(takeToken);
  const [made, setMade] = useState<SignUpResult | null>(null);
  const link = useLoad("link", async (signal) => {
    if (token !== null) await ask("/account/links/inspect", { body: { token }, signal });
    return true;
  });
  if (made !== null) return <Welcome made={made} />;
  return (
    <Door title="Make your account">
      <Show of={link}>{() => <SignUpForm token={token} withWorkspace onMade={setMade} />}</Show>
    </Door>
  );
}

interface SignUpFormProps {
  token: string | null;
  /** The account gets its own workspace. */
  withWorkspace: boolean;
  onMade(made: SignUpResult): void;
}

export function SignUpForm({ token, withWorkspace, onMade }: SignUpFormProps) {
  const name = useText();
  const email = useText();
  const password = useText();
  const workspace = useText();
  const signUp = useAction(async () => {
    const body = {
      email: email.value,
      password: password.value,
      ...(name.value === "" ? {} : { name: name.value }),
      ...(withWorkspace && workspace.value !== "" ? { workspace_name: workspace.value } : {}),
      ...(token === null ? {} : { token }),
    };
    onMade(await ask<SignUpResult>("/account/sign-up", { body }));
  });
  return (
    <Form action={signUp} submit="Make the account" at="door">
      <TextField
        label="Your name"
        hint="Optional; other members see it."
        {...name}
        param="name"
        attributes={{ autocomplete: "name" }}
      />
      <Email {...email} hint="To sign in with. The daemon sends no mail." />
      <NewPassword label="Password" {...password} param="password" note="; a few unrelated words do well." />
      {withWorkspace && (
        <TextField
          label="Workspace"
          hint="Optional. A workspace holds agents, their data and one audit log. Use the name of the team or the product."
          {...workspace}
          param="workspace_name"
        />
      )}
    </Form>
  );
}

/** Shows what the user needs next: the workspace, the key, a request that works. */
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
        <Button kind="primary" action={enter}>
          {made.api_key === null ? "Go to the workspace" : "I have kept the key"}
        </Button>
      </div>
    </Door>
  );
}
