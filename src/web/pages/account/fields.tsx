/** Fields that the pages about accounts share. */
import { TextField, type useText } from "../../ui/field.tsx";

/** The daemon accepts no shorter password. */
const MIN_PASSWORD_LENGTH = 12;

type Text = ReturnType<typeof useText>;

/** A password to set. `note` follows the hint about its length. */
export function NewPassword(props: Text & { label: string; param: string; note: string }) {
  return (
    <TextField
      {...props}
      hint={`At least ${MIN_PASSWORD_LENGTH} characters${props.note}`}
      attributes={{ type: "password", autocomplete: "new-password", minLength: MIN_PASSWORD_LENGTH, required: true }}
    />
  );
}

/** A password to check. */
export function Password(props: Text & { label: string; param?: string; autofocus?: boolean }) {
  return (
    <TextField
      {...props}
      attributes={{
        type: "password",
        autocomplete: "current-password",
        required: true,
        autofocus: props.autofocus === true,
      }}
    />
  );
}

/** A code of the second factor. */
export function Code(props: Text & { hint?: string; autofocus?: boolean }) {
  return (
    <TextField
      label="Code"
      {...props}
      attributes={{
        autocomplete: "one-time-code",
        required: true,
        spellcheck: false,
        autofocus: props.autofocus === true,
      }}
    />
  );
}

export function Email(props: Text & { hint?: string; autofocus?: boolean }) {
  return (
    <TextField
      label="Email"
      param="email"
      {...props}
      attributes={{ type: "email", autocomplete: "username", required: true, autofocus: props.autofocus === true }}
    />
  );
}
