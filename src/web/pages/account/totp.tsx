/** The second factor: six digits of an authenticator, and recovery codes for when it is lost. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { Account, RecoveryCodes, TotpBegun } from "../../api/types.ts";
import { useLoad } from "../../state/load.ts";
import { loadSession } from "../../state/session.ts";
import { CopyBlock } from "../../ui/copy.tsx";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { Form, useFields } from "../../ui/field.tsx";
import { useClose } from "../../ui/leave.ts";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Section, Show } from "../../ui/parts.tsx";
import { Code, Password, useProofs } from "./fields.tsx";

/** Light modules around a QR code (ISO/IEC 18004 asks for four). */
const QUIET_ZONE = 4;

export function TotpSection({ account }: { account: Account }) {
  return (
    <Section title="Authenticator">
      <div class="card stack narrow-form">
        {account.totp ? (
          <>
            <p>
              <strong>On.</strong> Signing in with the password asks for a code of your authenticator.{" "}
              {counted(account.recovery_codes_left, "recovery code")} left.
            </p>
            <div class="row">
              <DialogButton dialog={<Renew />}>New recovery codes …</DialogButton>
              <DialogButton kind="danger-quiet" dialog={<Disable />}>
                Turn off …
              </DialogButton>
            </div>
          </>
        ) : (
          <>
            <p>Off. With an authenticator, a stolen password alone is not enough to sign in.</p>
            <div class="row">
              <DialogButton dialog={<TurnOn />}>Turn on …</DialogButton>
            </div>
          </>
        )}
      </div>
    </Section>
  );
}

function TurnOn() {
  const { field, values } = useFields({ password: "", code: "" });
  const [begun, setBegun] = useState<TotpBegun | null>(null);
  const [made, setMade] = useState<RecoveryCodes | null>(null);
  const act = async () => {
    if (begun === null) setBegun(await ask("/account/totp", { body: { password: values.password } }));
    else setMade(await ask("/account/totp/confirm", { body: { code: values.code } }));
  };
  if (made !== null) return <Codes codes={made.recovery_codes} />;
  return (
    <Dialog title="Turn on the second factor">
      <Form onSubmit={act} submit={begun === null ? "Continue" : "Turn on"}>
        {begun === null ? (
          <Password label="Your password" {...field("password")} autofocus />
        ) : (
          <>
            <p>Scan this with your authenticator, or type the secret into it, then enter the code that it shows.</p>
            <QrCode text={begun.uri} label="QR code of the secret; the same secret is in the text below" />
            <CopyBlock label="Secret" text={begun.secret} />
            <Code {...field("code")} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

/** A QR code, which a script of its own draws. */
function QrCode(props: { text: string; label: string }) {
  const drawn = useLoad<boolean[][]>(props.text, async () => {
    const { encodeQR } = await import("../../ui/qr-code.ts");
    return encodeQR(props.text, "raw", { border: QUIET_ZONE });
  });
  return (
    <div class="qr-place">
      <Show of={drawn}>{(modules) => <Modules modules={modules} label={props.label} />}</Show>
    </div>
  );
}

/** The modules of a code as one SVG path. */
function Modules({ modules, label }: { modules: boolean[][]; label: string }) {
  const size = modules.length;
  const path = modules.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} width={200} height={200} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} />
    </svg>
  );
}

function Renew() {
  const { body, fields } = useProofs();
  const [made, setMade] = useState<RecoveryCodes | null>(null);
  const renew = async () => setMade(await ask("/account/totp/recovery-codes", { body }));
  if (made !== null) return <Codes codes={made.recovery_codes} />;
  return (
    <Dialog title="New recovery codes">
      <Form onSubmit={renew} submit="Make new codes">
        <p>The old ones stop working.</p>
        {fields}
      </Form>
    </Dialog>
  );
}

function Disable() {
  const close = useClose();
  const { body, fields } = useProofs();
  const disable = async () => {
    await ask("/account/totp/disable", { body });
    await loadSession();
    say("The second factor", "is off.");
    close();
  };
  return (
    <Dialog title="Turn off the second factor">
      <Form onSubmit={disable} submit="Turn off" kind="danger">
        {fields}
      </Form>
    </Dialog>
  );
}

/** Shows new recovery codes. The account is loaded again only afterwards, since that changes the page below. */
export function Codes({ codes }: { codes: readonly string[] }) {
  const close = useClose();
  const keep = () => {
    close();
    void loadSession();
  };
  return (
    <Dialog title="Recovery codes" onClose={keep} once="I have kept them">
      <div class="stack">
        <p class="callout tone-warn">
          <strong>Shown only now.</strong> Each signs you in once without the authenticator. Print them, or put them
          where your passwords are.
        </p>
        <CopyBlock label="Recovery codes" text={codes.join("\n")} />
      </div>
    </Dialog>
  );
}
