/** The second factor: six digits of an authenticator, and recovery codes for when it is lost. */
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import type { Account, SignedIn } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import { updateSession } from "../../state/session.ts";
import { CopyBlock } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { counted } from "../../ui/numbers.ts";
import { Section } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { QrCode } from "../../ui/qr.tsx";

interface Begun {
  secret: string;
  uri: string;
}

type Step = "off" | "begin" | "codes" | "renew" | "disable";

async function refreshAccount(): Promise<void> {
  const { account } = await ask<SignedIn>("/account");
  updateSession(() => ({ account }));
}

export function TotpSection({ account }: { account: Account }) {
  const [step, setStep] = useState<Step>("off");
  const [codes, setCodes] = useState<string[]>([]);
  const close = () => setStep("off");
  const showCodes = (made: string[]) => {
    setCodes(made);
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
              <button type="button" class="button" onClick={() => setStep("renew")}>
                New recovery codes …
              </button>
              <button type="button" class="button button-danger-quiet" onClick={() => setStep("disable")}>
                Turn off …
              </button>
            </div>
          </>
        ) : (
          <>
            <p>Off. With an authenticator, whoever learns your password still cannot sign in.</p>
            <div class="row">
              <button type="button" class="button" onClick={() => setStep("begin")}>
                Turn on …
              </button>
            </div>
          </>
        )}
      </div>
      {step === "begin" && <TurnOn onClose={close} onCodes={showCodes} />}
      {step === "renew" && <Renew onClose={close} onCodes={showCodes} />}
      {step === "disable" && <Disable onClose={close} />}
      {step === "codes" && <RecoveryCodes codes={codes} onClose={close} />}
    </Section>
  );
}

interface StepProps {
  onClose(): void;
  onCodes(codes: string[]): void;
}

function TurnOn({ onClose, onCodes }: StepProps) {
  const [password, setPassword] = useState("");
  const [begun, setBegun] = useState<Begun | null>(null);
  const [code, setCode] = useState("");
  const begin = useAction(async () => setBegun(await ask<Begun>("/account/totp", { body: { password } })));
  const confirm = useAction(async () => {
    const { recovery_codes } = await ask<{ recovery_codes: string[] }>("/account/totp/confirm", {
      body: { code },
    });
    onCodes(recovery_codes);
  });
  return (
    <Dialog title="Turn on the second factor" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void (begun === null ? begin : confirm).run();
        }}
      >
        {begun === null ? (
          <Password value={password} onValue={setPassword} />
        ) : (
          <>
            <p>
              Scan this with your authenticator, or type the secret into it, then enter the code that it
              shows.
            </p>
            <QrCode text={begun.uri} label="QR code of the secret; the same secret is in the text below" />
            <CopyBlock label="Secret" text={begun.secret} />
            <Code value={code} onValue={setCode} />
          </>
        )}
        <Problem problem={begin.problem ?? confirm.problem} />
        <div class="row row-end">
          <button type="submit" class="button button-primary" disabled={begin.busy || confirm.busy}>
            {begun === null ? "Go on" : "Turn on"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Both proofs that the account asks for before it changes the second factor. */
function useProofs() {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const fields = (
    <>
      <Password value={password} onValue={setPassword} />
      <Code value={code} onValue={setCode} />
    </>
  );
  return { body: { password, code }, fields };
}

function Renew({ onClose, onCodes }: StepProps) {
  const { body, fields } = useProofs();
  const renew = useAction(async () => {
    const made = await ask<{ recovery_codes: string[] }>("/account/totp/recovery-codes", { body });
    onCodes(made.recovery_codes);
  });
  return (
    <Dialog title="New recovery codes" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void renew.run();
        }}
      >
        <p>The old ones stop working.</p>
        {fields}
        <Problem problem={renew.problem} />
        <div class="row row-end">
          <button type="submit" class="button button-primary" disabled={renew.busy}>
            Make new codes
          </button>
        </div>
      </form>
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
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void disable.run();
        }}
      >
        {fields}
        <Problem problem={disable.problem} />
        <div class="row row-end">
          <button type="submit" class="button button-danger" disabled={disable.busy}>
            Turn off
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose(): void }) {
  return (
    <Dialog title="Recovery codes" onClose={onClose}>
      <div class="stack">
        <p class="callout callout-warn">
          <strong>Shown only now.</strong> Each signs you in once without the authenticator. Print them, or
          put them where your passwords are.
        </p>
        <CopyBlock label="Recovery codes" text={codes.join("\n")} />
        <div class="row row-end">
          <button type="button" class="button button-primary" onClick={onClose}>
            I have kept them
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface InputProps {
  value: string;
  onValue(value: string): void;
}

function Password({ value, onValue }: InputProps) {
  return (
    <TextField
      label="Your password"
      value={value}
      onValue={onValue}
      attributes={{ type: "password", autocomplete: "current-password", required: true, autofocus: true }}
    />
  );
}

function Code({ value, onValue }: InputProps) {
  return (
    <TextField
      label="Code"
      value={value}
      onValue={onValue}
      attributes={{ autocomplete: "one-time-code", required: true, spellcheck: false, inputMode: "numeric" }}
    />
  );
}
