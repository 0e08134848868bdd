/** Signing in, with the second factor when the account has one. */
import { useEffect, useState } from "preact/hooks";
import { ask, isCode } from "../../api/client.ts";
import type { SignedIn, Status } from "../../api/types.ts";
import { useAction, useAsk } from "../../state/load.ts";
import { go, place } from "../../state/router.ts";
import { beginSession, session } from "../../state/session.ts";
import { Door } from "../../ui/door.tsx";
import { Form, useText } from "../../ui/field.tsx";
import { Code, Email, Password } from "./fields.tsx";

/** Returns the address to open after signing in, which is always one of the dashboard. */
function nextPlace(): string {
  const next = place.peek().query.get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}

export function SignInPage() {
  const status = useAsk<Status>("/account/status");
  const signedIn = session.value.kind === "in";
  useEffect(() => {
    if (signedIn) go(nextPlace(), { replace: true });
  }, [signedIn]);
  if (signedIn) return null;
  return (
    <Door title="Sign in">
      <SignInForm onSignedIn={beginSession} />
      {status.data?.first_account === true && (
        <p class="callout small">
          There is no account yet. Open the one-time link that <code>governd serve</code> printed when it started, or
          make a new one with <code>governd account link</code>.
        </p>
      )}
      <p class="small faint">
        {status.data?.signup === "open" && (
          <>
            No account? <a href="/sign-up">Sign up</a>.{" "}
          </>
        )}
        Forgot the password? Whoever runs this daemon can make a new link:{" "}
        <code class="nowrap">governd account link --email …</code>
      </p>
    </Door>
  );
}

export function SignInForm({ onSignedIn }: { onSignedIn(signedIn: SignedIn): void | Promise<void> }) {
  const email = useText();
  const password = useText();
  const code = useText();
  const [needsCode, setNeedsCode] = useState(false);
  const signIn = useAction(async () => {
    try {
      const body = { email: email.value, password: password.value, ...(needsCode ? { code: code.value } : {}) };
      await onSignedIn(await ask<SignedIn>("/account/sign-in", { body }));
    } catch (error) {
      if (!isCode(error, "second_factor_required")) throw error;
      setNeedsCode(true);
    }
  });
  return (
    <Form action={signIn} submit="Sign in" at="door">
      <Email {...email} autofocus />
      <Password label="Password" {...password} />
      {needsCode && <Code {...code} hint="Six digits of your authenticator, or a recovery code." autofocus />}
    </Form>
  );
}
