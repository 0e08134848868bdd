/** The user's account: name, password, second factor, sessions. */
import { ask } from "../../api/client.ts";
import type { Account, Session, Status } from "../../api/types.ts";
import { useAction, useAsk, useItems } from "../../state/load.ts";
import { session, updateSession } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, TextField, useFields } from "../../ui/field.tsx";
import { Badge, Time } from "../../ui/inline.tsx";
import { say } from "../../ui/notices.tsx";
import { Heading, Problem, Section, Show } from "../../ui/parts.tsx";
import { NewPassword, Password, useProofs } from "./fields.tsx";
import { PasskeysSection } from "./passkeys.tsx";
import { IssuerProblem } from "./sign-in.tsx";
import { TotpSection } from "./totp.tsx";

export function SettingsPage() {
  if (session.value.kind !== "in") return null;
  const { account } = session.value;
  return (
    <>
      <Heading title="Your account">{account.email}</Heading>
      <NameSection account={account} />
      <PasswordSection />
      <PasskeysSection account={account} />
      <TotpSection account={account} />
      <IssuerSection />
      <SessionsSection />
      <EraseSection account={account} />
    </>
  );
}

function NameSection({ account }: { account: Account }) {
  const { field, values } = useFields({ name: account.name });
  const save = async () => {
    const changed = await ask<Account>("/account", { method: "PUT", body: values });
    updateSession(() => ({ account: changed }));
    say("Your name", `is ${changed.name} now.`);
  };
  return (
    <Section title="Name">
      <Form onSubmit={save} submit="Save" kind="plain" at="page" disabled={values.name === account.name}>
        <TextField
          label="Your name"
          hint="Other members and readers of the audit log see it."
          {...field("name")}
          autocomplete="name"
          required
        />
      </Form>
    </Section>
  );
}

function PasswordSection() {
  const { field, values, clear } = useFields({ current_password: "", new_password: "" });
  const change = async () => {
    await ask("/account/password", { method: "PUT", body: values });
    clear();
    say("The password", "is changed, and all your other sessions have ended.");
  };
  return (
    <Section title="Password">
      <Form onSubmit={change} submit="Change the password" kind="plain" at="page">
        <Password label="Current password" {...field("current_password")} />
        <NewPassword label="New password" {...field("new_password")} note=". Your other sessions end." />
      </Form>
    </Section>
  );
}

/** The link between the account and the issuer. */
function IssuerSection() {
  const status = useAsk<Status>("/account/status");
  const issuer = status.data?.issuer ?? null;
  if (issuer === null) return null;
  return (
    <Section title="Sign-in by the issuer">
      <IssuerProblem />
      <p>
        Link your account to <strong>{new URL(issuer).host}</strong> to sign in there as well. Whoever signs in next at
        the issuer in this browser is linked to it.
      </p>
      <div class="row">
        <DialogButton dialog={<LinkDialog />}>Link to the issuer</DialogButton>
        <DialogButton
          kind="danger-quiet"
          dialog={
            <Confirm
              title="End the link to the issuer?"
              action="End the link"
              danger
              onConfirm={() => ask("/account/oidc/link", { method: "DELETE" })}
            >
              <p>You then sign in with your password only. Sessions that began at the issuer end.</p>
            </Confirm>
          }
        >
          End the link
        </DialogButton>
      </div>
    </Section>
  );
}

function LinkDialog() {
  const { field, values } = useFields({ password: "" });
  const link = async () => {
    const { url } = await ask<{ url: string }>("/account/oidc/link", { body: values });
    location.assign(url);
  };
  return (
    <Dialog title="Link to the issuer">
      <Form onSubmit={link} submit="Go to the issuer" cancel>
        <Password label="Current password" {...field("password")} autofocus />
      </Form>
    </Dialog>
  );
}

/** Erases the account for good, which needs a second factor. */
function EraseSection({ account }: { account: Account }) {
  return (
    <Section title="Erase the account">
      <div class="card stack narrow-form">
        <p>
          Removes your name, addresses, factors and sessions for good. You leave your workspaces; what you did there
          stays in their logs, under your id.
        </p>
        {account.totp || account.passkeys > 0 ? (
          <div class="row">
            <DialogButton kind="danger-quiet" dialog={<EraseDialog />}>
              Erase the account …
            </DialogButton>
          </div>
        ) : (
          <p>It needs a second factor: turn on the authenticator first.</p>
        )}
      </div>
    </Section>
  );
}

function EraseDialog() {
  const { body, fields } = useProofs();
  const erase = async () => {
    await ask("/account", { method: "DELETE", body });
    location.assign("/sign-in");
  };
  return (
    <Dialog title="Erase the account for good?">
      <Form onSubmit={erase} submit="Erase the account" kind="danger" cancel>
        {fields}
      </Form>
    </Dialog>
  );
}

function browserName(userAgent: string): string {
  if (userAgent === "") return "Unknown browser";
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)/.exec(userAgent)?.[1] ?? "Other client";
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|CrOS|Linux)/.exec(userAgent)?.[1];
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS", CrOS: "ChromeOS" };
  const called = names[browser] ?? browser;
  return system === undefined ? called : `${called} on ${names[system] ?? system}`;
}

function SessionsSection() {
  const sessions = useItems<Session>("/account/sessions");
  /** Ends one session, or all others. */
  const end = useAction(async (id?: string) => {
    await ask(id === undefined ? "/account/sessions" : `/account/sessions/${id}`, { method: "DELETE" });
    sessions.reload();
  });
  return (
    <Section
      title="Sessions"
      actions={(sessions.data?.length ?? 0) > 1 && <Button action={end}>End all others</Button>}
    >
      <Problem problem={end.problem} />
      <Show of={sessions}>
        {(items) => (
          <ul class="card-list">
            {items.map(({ id, user_agent, address, last_seen_at, created_at, current }) => (
              <li key={id} class="card card-row">
                <div>
                  <strong title={user_agent}>{browserName(user_agent)}</strong>{" "}
                  {current && <Badge tone="good">this one</Badge>}
                  <div class="faint small">
                    {address} · used <Time at={last_seen_at} /> · signed in <Time at={created_at} />
                  </div>
                </div>
                {!current && (
                  <Button kind="danger-quiet" small disabled={end.busy} onClick={() => end.run(id)}>
                    End
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Show>
    </Section>
  );
}
