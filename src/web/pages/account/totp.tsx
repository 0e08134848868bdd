/** The second factor: six digits of an authenticator, and recovery codes for when it is lost. */

import { useState } from "preact/hooks";
import encodeQR from "qr";
import { ask } from "../../api/client.ts";
import type { Account, RecoveryCodes, SignedIn, TotpBegun } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { updateSession } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form, useText } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { counted } from "../../ui/numbers.ts";
import { Section } from "../../ui/parts.tsx";
import { Code, Password } from "./fields.tsx";

/** Light modules around a QR code (ISO/IEC 18004 asks for four). */
const QUIET_ZONE = 4;

type Step = "off" | "begin" | "codes" | "renew" | "disable";

async function refreshAccount(): Promise<void> {
  const { account } = await ask<SignedIn>("/account");
  updateSession(() => ({ account }));
}

export function TotpSection({ account }: { account: Account }) {
  const [step, setStep] = useState<Step>("off");
  const [codes, setCodes] = useState<readonly string[]>([]);
  const close = () => setStep("off");
  const showCodes = ({ recovery_codes }: RecoveryCodes) => {
    setCodes(recovery_codes);
    setStep("codes");
    void refreshAccount();
  };
  return (
    <Section title="Second factor">
      <div class="card stack narrow-form">
        {account.totp ? (
          <>
            <p>
              <strong>On.</strong> Signing in asks for a code of your authenticator.{" "}
              {counted(account.recovery_codes_left, "recovery code")} left.
            </p>
            <div class="row">
              <Button onClick={() => setStep("renew")}>New recovery codes …</Button>
              <Button kind="danger-quiet" onClick={() => setStep("disable")}>
                Turn off …
              </Button>
            </div>
          </>
        ) : (
          <>
            <p>Off. With an authenticator, whoever learns your password still cannot sign in.</p>
            <div class="row">
              <Button onClick={() => setStep("begin")}>Turn on …</Button>
            </div>
          </>
        )}
      </div>
      {step === "begin" && <TurnOn onClose={close} onCodes={showCodes} />}
      {step === "renew" && <Renew onClose={close} onCodes={showCodes} />}
      {step === "disable" && <Disable onClose={close} />}
      {step === "codes" && <Codes codes={codes} onClose={close} />}
    </Section>
  );
}

interface StepProps {
  onClose(): void;
  onCodes(codes: RecoveryCodes): void;
}

function TurnOn({ onClose, onCodes }: StepProps) {
  const password = useText();
  const code = useText();
  const [begun, setBegun] = useState<TotpBegun | null>(null);
  const act = useAction(async () => {
    if (begun === null) setBegun(await ask("/account/totp", { body: { password: password.value } }));
    else onCodes(await ask("/account/totp/confirm", { body: { code: code.value } }));
  });
  return (
    <Dialog title="Turn on the second factor" onClose={onClose}>
      <Form action={act} submit={begun === null ? "Continue" : "Turn on"}>
        {begun === null ? (
          <Password label="Your password" {...password} autofocus />
        ) : (
          <>
            <p>Scan this with your authenticator, or type the secret into it, then enter the code that it shows.</p>
            <QrCode text={begun.uri} label="QR code of the secret; the same secret is in the text below" />
            <CopyBlock label="Secret" text={begun.secret} />
            <Code {...code} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

/** A QR code as one SVG path. */
function QrCode({ text, label }: { text: string; label: string }) {
  const modules = encodeQR(text, "raw", { border: QUIET_ZONE });
  const size = modules.length;
  const path = modules.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} />
      <path d={path} />
    </svg>
  );
}

/** The password and the code, which the daemon wants before it changes the second factor. */
function useProofs() {
  const password = useText();
  const code = useText();
  const fields = (
    <>
      <Password label="Your password" {...password} autofocus />
      <Code {...code} />
    </>
  );
  return { body: { password: password.value, code: code.value }, fields };
}

function Renew({ onClose, onCodes }: StepProps) {
  const { body, fields } = useProofs();
  const renew = useAction(async () => onCodes(await ask("/account/totp/recovery-codes", { body })));
  return (
    <Dialog title="New recovery codes" onClose={onClose}>
      <Form action={renew} submit="Make new codes">
        <p>The old ones stop working.</p>
        {fields}
      </Form>
    </Dialog>
  );
}

function Disable({ onClose }: { onClose(): void }) {
  const { body, fields } = useProofs();
  const disable = useAction(async () => {
    await ask("/account/totp/disable", { body });
    await refreshAccount();
    say("The second factor is off.");
    onClose();
  });
  return (
    <Dialog title="Turn off the second factor" onClose={onClose}>
      <Form action={disable} submit="Turn off" kind="danger">
        {fields}
      </Form>
    </Dialog>
  );
}

function Codes({ codes, onClose }: { codes: readonly string[]; onClose(): void }) {
  return (
    <Dialog title="Recovery codes" onClose={onClose}>
      <div class="stack">
        <p class="callout callout-warn">
          <strong>Shown only now.</strong> Each signs you in once without the authenticator. Print them, or put them
          where your passwords are.
        </p>
        <CopyBlock label="Recovery codes" text={codes.join("\n")} />
        <div class="row row-end">
          <Button kind="primary" onClick={onClose}>
            I have kept them
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
