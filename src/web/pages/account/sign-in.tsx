/** Signing in, with the second factor when the account has one, and setting a new password with the operator's link. */
import { useEffect, useRef, useState } from "preact/hooks";
import { sentenceFor } from "../../../oidc/causes.ts";
import { address, ask, isCode } from "../../api/client.ts";
import { hasPasskeys, offersPasskeys, signInByPasskey } from "../../api/passkeys.ts";
import { ApiProblem } from "../../api/problem.ts";
import type { Account, SignedIn, Status } from "../../api/types.ts";
import { useAction, useAsk } from "../../state/load.ts";
import { go, place } from "../../state/router.ts";
import { beginSession, resumeSession, session } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form, useFields } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { Problem } from "../../ui/parts.tsx";
import { LinkPage, SignedOutPage } from "../../ui/signed-out-page.tsx";
import { Code, Email, NewPassword, Password } from "./fields.tsx";

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
    <SignedOutPage title="Sign in">
      <IssuerProblem />
      {status.data?.issuer != null && <ByIssuer issuer={status.data.issuer} />}
      {status.data?.issuer_only === true ? (
        <details>
          <summary>Sign in with a password</summary>
          <p class="small faint">Only an owner with a second factor can, so that a broken issuer locks nobody out.</p>
          <SignInForm onSignedIn={beginSession} />
        </details>
      ) : (
        <SignInForm onSignedIn={beginSession} />
      )}
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
    </SignedOutPage>
  );
}

/** The button that leads to the issuer. */
function ByIssuer({ issuer }: { issuer: string }) {
  return (
    <p>
      <a class="button button-primary button-wide" href={address("/account/oidc/start", { next: nextPlace() })}>
        Sign in by {new URL(issuer).host}
      </a>
    </p>
  );
}

/** Shows the problem that the address names. */
export function IssuerProblem() {
  const code = place.value.query.get("issuer_problem");
  if (code === null) return null;
  return (
    <p class="callout tone-bad" role="alert">
      {sentenceFor(code) ?? "Signing in by the issuer did not work. Begin again."}
    </p>
  );
}

/** Signing in over the page whose session has ended, so that nothing that was typed there is lost. */
export function SignInAgain({ account }: { account: Account }) {
  const forget = () => {
    session.value = { kind: "out" };
  };
  return (
    <Dialog title="Sign in again" covers>
      <div class="stack">
        <p>Your session has ended. What you typed is still on the page behind this.</p>
        <SignInForm email={account.email} onSignedIn={resumeSession} />
        <button type="button" class="link" onClick={forget}>
          Leave the page
        </button>
      </div>
    </Dialog>
  );
}

interface SignInFormProps {
  email?: string;
  onSignedIn(signedIn: SignedIn): void | Promise<void>;
}

export function SignInForm({ email = "", onSignedIn }: SignInFormProps) {
  const { field, values } = useFields({ email, password: "", code: "" });
  const [needsCode, setNeedsCode] = useState(false);
  const signIn = async () => {
    try {
      const body = needsCode ? values : { email: values.email, password: values.password };
      await onSignedIn(await ask<SignedIn>("/account/sign-in", { body }));
    } catch (error) {
      if (!isCode(error, "second_factor_required")) throw error;
      setNeedsCode(true);
    }
  };
  return (
    <>
      <Form onSubmit={signIn} submit="Sign in" at="signed-out">
        <Email {...field("email")} autofocus={email === ""} />
        <Password label="Password" {...field("password")} autofocus={email !== ""} />
        {needsCode && (
          <Code
            {...field("code")}
            hint="Six digits of your authenticator, or a recovery code. Or use your passkey."
            autofocus
          />
        )}
      </Form>
      {hasPasskeys() && <ByPasskey onSignedIn={onSignedIn} />}
    </>
  );
}

/** Signing in with a passkey: by the button, or where the browser offers one for the mail address. */
function ByPasskey({ onSignedIn }: Pick<SignInFormProps, "onSignedIn">) {
  const offered = useRef<AbortController | null>(null);
  const signIn = useAction(async () => {
    // The browser has one request for a passkey at a time.
    offered.current?.abort();
    await onSignedIn(await signInByPasskey());
  });
  useEffect(() => {
    const offer = new AbortController();
    offered.current = offer;
    void offeredPasskey(offer.signal).then((signedIn) => signedIn !== null && onSignedIn(signedIn));
    return () => offer.abort();
  }, []);
  return (
    <div class="stack">
      <Button action={signIn}>Use a passkey</Button>
      <Problem problem={signIn.problem} />
    </div>
  );
}

/** Returns who signed in with a passkey that the browser offered; null when nobody did. */
async function offeredPasskey(signal: AbortSignal): Promise<SignedIn | null> {
  try {
    return (await offersPasskeys()) && !signal.aborted ? await signInByPasskey(signal) : null;
  } catch (error) {
    // The button shows what goes wrong. What is only offered disturbs nobody.
    if (error instanceof ApiProblem || error instanceof DOMException) return null;
    throw error;
  }
}

export function ResetPage() {
  return <LinkPage title="A new password">{(token) => <Reset token={token} />}</LinkPage>;
}

function Reset({ token }: { token: string }) {
  const { field, values } = useFields({ new_password: "" });
  const reset = async () => {
    await ask("/account/password/reset", { body: { token, ...values } });
    // The daemon has ended all sessions of the account, including this one.
    session.value = { kind: "out" };
    say("The password", "is changed. Sign in with it.");
    go("/sign-in");
  };
  return (
    <Form onSubmit={reset} submit="Change the password" at="signed-out">
      <NewPassword label="New password" {...field("new_password")} note=". All your sessions end." />
    </Form>
  );
}
