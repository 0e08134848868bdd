/** The user's account: name, password, second factor, sessions. */
import { ask } from "../../api/client.ts";
import type { Account, Session } from "../../api/types.ts";
import { useAction, useItems } from "../../state/load.ts";
import { session, updateSession } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Form, TextField, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { Heading, Section, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { NewPassword, Password } from "./fields.tsx";
import { TotpSection } from "./totp.tsx";

export function SettingsPage() {
  if (session.value.kind !== "in") return null;
  const { account } = session.value;
  return (
    <>
      <Heading title="Your account" name="Your account">
        {account.email}
      </Heading>
      <NameSection account={account} />
      <PasswordSection />
      <TotpSection account={account} />
      <SessionsSection />
    </>
  );
}

function NameSection({ account }: { account: Account }) {
  const name = useText(account.name);
  const save = useAction(async () => {
    const changed = await ask<Account>("/account", { method: "PUT", body: { name: name.value } });
    updateSession(() => ({ account: changed }));
    say("Saved.");
  });
  return (
    <Section title="Name">
      <Form action={save} submit="Save" kind="plain" at="page" disabled={name.value === account.name}>
        <TextField
          label="Your name"
          hint="Other members and readers of the audit log see it."
          {...name}
          param="name"
          attributes={{ autocomplete: "name", required: true }}
        />
      </Form>
    </Section>
  );
}

function PasswordSection() {
  const current = useText();
  const next = useText();
  const change = useAction(async () => {
    await ask("/account/password", {
      method: "PUT",
      body: { current_password: current.value, new_password: next.value },
    });
    current.onValue("");
    next.onValue("");
    say("The password is changed, and all your other sessions have ended.");
  });
  return (
    <Section title="Password">
      <Form action={change} submit="Change the password" kind="plain" at="page">
        <Password label="Current password" {...current} param="current_password" />
        <NewPassword label="New password" {...next} param="new_password" note=". Your other sessions end." />
      </Form>
    </Section>
  );
}

/** Returns the usual name of a browser, from its User-Agent. */
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
  const end = useAction(async (id: string) => {
    await ask(`/account/sessions/${id}`, { method: "DELETE" });
    sessions.reload();
  });
  const endOthers = useAction(async () => {
    await ask("/account/sessions", { method: "DELETE" });
    sessions.reload();
  });
  return (
    <Section
      title="Sessions"
      actions={(sessions.data?.length ?? 0) > 1 && <Button action={endOthers}>End all others</Button>}
    >
      <Problem problem={end.problem ?? endOthers.problem} />
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
