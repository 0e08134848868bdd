/** Sets a new password, with a link from the operator. */
import { ask } from "../../api/client.ts";
import { useAction } from "../../state/load.ts";
import { go } from "../../state/router.ts";
import { session } from "../../state/session.ts";
import { IncompleteLink, LinkDoor } from "../../ui/door.tsx";
import { Form, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { NewPassword } from "./fields.tsx";

export function ResetPage() {
  return (
    <LinkDoor title="A new password">
      {(token) => (token === null ? <IncompleteLink /> : <Reset token={token} />)}
    </LinkDoor>
  );
}

function Reset({ token }: { token: string }) {
  const password = useText();
  const reset = useAction(async () => {
    await ask("/account/password/reset", { body: { token, new_password: password.value } });
    // The daemon has ended all sessions of the account, including this one.
    session.value = { kind: "out" };
    say("The password is changed. Sign in with it.");
    go("/sign-in");
  });
  return (
    <Form action={reset} submit="Change the password" at="door">
      <NewPassword label="New password" {...password} param="new_password" note=". All your sessions end." />
    </Form>
  );
}
