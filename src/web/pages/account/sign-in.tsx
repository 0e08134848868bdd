/** Signing in, with the second factor when the account has one. */
import { useEffect, useState } from "preact/hooks";
import { ask, isCode } from "../../api/client.ts";
import type { SignedIn, Status } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { go, place } from "../../state/router.ts";
import { beginSession, session } from "../../state/session.ts";
import { Door } from "../../ui/door.tsx";
import { TextField } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";

/** Where to after signing in: an address of the dashboard, never of anybody else. */
function nextPlace(): string {
  const next = place.peek().query.get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}

export function SignInPage() {
  const status = useLoad("status", (signal) => ask<Status>("/account/status", { signal }));
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
          There is no account yet. Open the one-time link that <code>governd serve</code> printed when it
          started, or make a new one with <code>governd account link</code>.
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
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [needsCode, setNeedsCode] = useState(false);
  const signIn = useAction(async () => {
    try {
      const body = { email, password, ...(needsCode ? { code } : {}) };
      await onSignedIn(await ask<SignedIn>("/account/sign-in", { body }));
    } catch (error) {
      if (!isCode(error, "second_factor_required")) throw error;
      setNeedsCode(true);
    }
  });
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void signIn.run();
      }}
    >
      <TextField
        label="Email"
        value={email}
        onValue={setEmail}
        problem={signIn.problem}
        param="email"
        attributes={{ type: "email", autocomplete: "username", required: true, autofocus: true }}
      />
      <TextField
        label="Password"
        value={password}
        onValue={setPassword}
        attributes={{ type: "password", autocomplete: "current-password", required: true }}
      />
      {needsCode && (
        <TextField
          label="Code"
          hint="Six digits of your authenticator, or a recovery code."
          value={code}
          onValue={setCode}
          attributes={{ autocomplete: "one-time-code", required: true, autofocus: true, spellcheck: false }}
        />
      )}
      <Problem problem={signIn.problem} />
      <button type="submit" class="button button-primary button-wide" disabled={signIn.busy}>
        Sign in
      </button>
    </form>
  );
}
