/** One's own account: name, password, second factor, sessions. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { Account, Session } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import { session, updateSession } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { TextField } from "../../ui/field.tsx";
import { Heading, Section, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { MIN_PASSWORD_LENGTH } from "./sign-up.tsx";
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
  const [name, setName] = useState(account.name);
  const save = useAction(async () => {
    const changed = await ask<Account>("/account", { method: "PUT", body: { name } });
    updateSession(() => ({ account: changed }));
    say("Saved.");
  });
  return (
    <Section title="Name">
      <form
        class="card stack narrow-form"
        onSubmit={(event) => {
          event.preventDefault();
          void save.run();
        }}
      >
        <TextField
          label="Your name"
          hint="Other members and the audit log's readers see it."
          value={name}
          onValue={setName}
          problem={save.problem}
          param="name"
          attributes={{ autocomplete: "name", required: true }}
        />
        <Problem problem={save.problem} />
        <div class="row">
          <button type="submit" class="button" disabled={save.busy || name === account.name}>
            Save
          </button>
        </div>
      </form>
    </Section>
  );
}

function PasswordSection() {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useAction(async () => {
    await ask("/account/password", {
      method: "PUT",
      body: { current_password: current, new_password: next },
    });
    setCurrent("");
    setNext("");
    say("The password is changed, and all your other sessions have ended.");
  });
  return (
    <Section title="Password">
      <form
        class="card stack narrow-form"
        onSubmit={(event) => {
          event.preventDefault();
          void change.run();
        }}
      >
        <TextField
          label="Current password"
          value={current}
          onValue={setCurrent}
          problem={change.problem}
          param="current_password"
          attributes={{ type: "password", autocomplete: "current-password", required: true }}
        />
        <TextField
          label="New password"
          hint={`At least ${MIN_PASSWORD_LENGTH} characters. Your other sessions end.`}
          value={next}
          onValue={setNext}
          problem={change.problem}
          param="new_password"
          attributes={{
            type: "password",
            autocomplete: "new-password",
            minLength: MIN_PASSWORD_LENGTH,
            required: true,
          }}
        />
        <Problem problem={change.problem} />
        <div class="row">
          <button type="submit" class="button" disabled={change.busy}>
            Change the password
          </button>
        </div>
      </form>
    </Section>
  );
}

/** A browser as people call it, from what it says of itself. */
export function browserName(userAgent: string): string {
  if (userAgent === "") return "Unknown browser";
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)/.exec(userAgent)?.[1] ?? "Other client";
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|CrOS|Linux)/.exec(userAgent)?.[1];
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS", CrOS: "ChromeOS" };
  const called = names[browser] ?? browser;
  return system === undefined ? called : `${called} on ${names[system] ?? system}`;
}

function SessionsSection() {
  const sessions = useLoad<Session[]>("sessions", async (signal) => {
    const { data } = await ask<{ data: Session[] }>("/account/sessions", { signal });
    return data;
  });
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
      actions={
        (sessions.data?.length ?? 0) > 1 && (
          <button type="button" class="button" disabled={endOthers.busy} onClick={() => endOthers.run()}>
            End all others
          </button>
        )
      }
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
                  <button
                    type="button"
                    class="button button-small button-danger-quiet"
                    disabled={end.busy}
                    onClick={() => end.run(id)}
                  >
                    End
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Show>
    </Section>
  );
}
