/** Fields that the pages about accounts share. */
import { TextField, type TextFieldProps, useFields } from "../../ui/field.tsx";

/** The daemon accepts no shorter password. */
const MIN_PASSWORD_LENGTH = 12;

type Labelled = Omit<TextFieldProps, "label">;

/** A password to set. `note` follows the hint about its length. */
export function NewPassword({ note, ...field }: TextFieldProps & { note: string }) {
  const hint = `At least ${MIN_PASSWORD_LENGTH} characters${note}`;
  const input = { type: "password", autocomplete: "new-password", minLength: MIN_PASSWORD_LENGTH } as const;
  return <TextField {...field} {...input} hint={hint} required />;
}

/** A password to check. */
export function Password(field: TextFieldProps) {
  return <TextField {...field} type="password" autocomplete="current-password" required />;
}

/** A code of the second factor. */
export function Code(field: Labelled) {
  return <TextField label="Code" {...field} autocomplete="one-time-code" required spellcheck={false} />;
}

/** The address of an account. The browser offers passkeys there, too, once a page asks for one. */
export function Email(field: Labelled) {
  return <TextField label="Email" {...field} type="email" autocomplete="username webauthn" required />;
}

/** The password and the code, which the daemon requires before it changes the second factor, or erases the account. */
export function useProofs() {
  const { field, values } = useFields({ password: "", code: "" });
  const fields = (
    <>
      <Password label="Your password" {...field("password")} autofocus />
      <Code {...field("code")} />
    </>
  );
  return { body: values, fields };
}
