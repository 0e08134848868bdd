/** A new password, by a link of whoever runs the daemon. */
import { useRef, useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { useAction } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import { go } from "../../state/router.ts";
import { session } from "../../state/session.ts";
import { Door, takeToken } from "../../ui/door.tsx";
import { TextField } from "../../ui/field.tsx";
import { Empty } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { MIN_PASSWORD_LENGTH } from "./sign-up.tsx";

export function ResetPage() {
  const taken = useRef<string | null | undefined>(undefined);
  if (taken.current === undefined) taken.current = takeToken();
  const token = taken.current;
  const [password, setPassword] = useState("");
  const reset = useAction(async () => {
    await ask("/account/password/reset", { method: "POST", body: { token, new_password: password } });
    // All sessions of the account have ended, this one included.
    session.value = { kind: "out" };
    say("The password is changed. Sign in with it.");
    go("/sign-in");
  });
  return (
    <Door title="A new password">
      {token === null ? (
        <Empty title="The link is incomplete">
          <p>Open the whole link that you were given.</p>
        </Empty>
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void reset.run();
          }}
        >
          <TextField
            label="New password"
            hint={`At least ${MIN_PASSWORD_LENGTH} characters. All your sessions end.`}
            value={password}
            onValue={setPassword}
            problem={reset.problem}
            param="new_password"
            attributes={{
              type: "password",
              autocomplete: "new-password",
              minLength: MIN_PASSWORD_LENGTH,
              required: true,
            }}
          />
          <Problem problem={reset.problem} />
          <button type="submit" class="button button-primary button-wide" disabled={reset.busy}>
            Change the password
          </button>
        </form>
      )}
    </Door>
  );
}
