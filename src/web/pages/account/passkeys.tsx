/** Passkeys: credentials on a device or a security key, in place of password and code. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { addPasskey, hasPasskeys } from "../../api/passkeys.ts";
import type { Account, Passkey } from "../../api/types.ts";
import { useItems } from "../../state/load.ts";
import { loadSession } from "../../state/session.ts";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, TextField, useFields } from "../../ui/field.tsx";
import { Time, TimeOr } from "../../ui/inline.tsx";
import { useClose } from "../../ui/leave.ts";
import { say } from "../../ui/notices.tsx";
import { Section, Show } from "../../ui/parts.tsx";
import { Password } from "./fields.tsx";
import { Codes } from "./totp.tsx";

export function PasskeysSection({ account }: { account: Account }) {
  const passkeys = useItems<Passkey>("/account/passkeys");
  return (
    <Section
      title="Passkeys"
      actions={
        hasPasskeys() && (
          <DialogButton dialog={<Add account={account} onAdded={passkeys.reload} />}>Add a passkey …</DialogButton>
        )
      }
    >
      <Show of={passkeys}>
        {(items) =>
          items.length === 0 ? (
            <p>
              None. With a passkey you sign in by a finger, a face or a PIN of your device. Whoever learns your password
              cannot sign in without it.
            </p>
          ) : (
            <ul class="card-list">
              {items.map((passkey) => (
                <li key={passkey.id} class="card card-row">
                  <div>
                    <strong>{passkey.name}</strong>
                    <div class="faint small">
                      for {passkey.host} · added <Time at={passkey.created_at} /> · used{" "}
                      <TimeOr at={passkey.last_used_at} none="never" />
                    </div>
                  </div>
                  <DialogButton
                    kind="danger-quiet"
                    dialog={
                      <Remove
                        passkey={passkey}
                        isLastFactor={items.length === 1 && !account.totp}
                        onRemoved={passkeys.reload}
                      />
                    }
                  >
                    Remove …
                  </DialogButton>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </Section>
  );
}

function Add({ account, onAdded }: { account: Account; onAdded(): void }) {
  const close = useClose();
  const { field, values } = useFields({ name: "", password: "" });
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const add = async () => {
    const { passkey, recovery_codes: made } = await addPasskey(values, account);
    onAdded();
    if (made !== null) return setCodes(made);
    await loadSession();
    say("The passkey", `${passkey.name} is added.`);
    close();
  };
  if (codes !== null) return <Codes codes={codes} />;
  return (
    <Dialog title="Add a passkey">
      <Form onSubmit={add} submit="Continue">
        <TextField label="Name" hint="For example the device that keeps it." {...field("name")} autofocus required />
        <Password label="Your password" {...field("password")} />
      </Form>
    </Dialog>
  );
}

interface RemoveProps {
  passkey: Passkey;
  isLastFactor: boolean;
  onRemoved(): void;
}

function Remove({ passkey, isLastFactor, onRemoved }: RemoveProps) {
  const close = useClose();
  const { field, values } = useFields({ password: "" });
  const remove = async () => {
    await ask(`/account/passkeys/${passkey.id}/remove`, { body: values });
    onRemoved();
    await loadSession();
    say("The passkey", `${passkey.name} is removed.`);
    close();
  };
  return (
    <Dialog title={`Remove ${passkey.name}?`}>
      <Form onSubmit={remove} submit="Remove" kind="danger">
        {isLastFactor && (
          <p class="callout tone-warn">
            It is your last factor: afterwards the password alone signs in, the recovery codes stop working, and
            workspaces that require a second factor are closed to you.
          </p>
        )}
        <p>Remove it in the device, too.</p>
        <Password label="Your password" {...field("password")} autofocus />
      </Form>
    </Dialog>
  );
}
