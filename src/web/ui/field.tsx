/** Forms, and labelled controls with a hint and an error that screen readers read with them. */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";
import { useAction } from "../state/load.ts";
import { Button } from "./button.tsx";
import { Leave } from "./leave.ts";
import { Problem } from "./parts.tsx";
import { hiddenIn } from "./text/visible.ts";

/** The problem of the form around a field, which may be about this field. */
export const FormProblem = createContext<ApiProblem | null>(null);

const FORM_CLASSES = {
  dialog: "stack",
  "signed-out": "stack",
  page: "card stack narrow-form",
  "wide page": "card stack",
};

interface FormProps {
  onSubmit(): Promise<void>;
  /** The text of the button. */
  submit: string;
  kind?: "plain" | "primary" | "danger";
  /** The place of the form, which decides where its button is. */
  at?: keyof typeof FORM_CLASSES;
  disabled?: boolean;
  /** The problem of the last submission. */
  problem?: ApiProblem | null;
  /** Adds a button that leaves the dialog. */
  cancel?: boolean;
  children: ComponentChildren;
}

/** Fields that are submitted together, and the problem of the last submission. */
export function Form({ onSubmit, submit, kind = "primary", at = "dialog", cancel = false, ...props }: FormProps) {
  const action = useAction(onSubmit);
  const leave = useContext(Leave);
  const problem = action.problem ?? props.problem ?? null;
  const button = (
    <button
      type="submit"
      class={`button button-${kind} ${at === "signed-out" ? "button-wide" : ""}`}
      disabled={action.busy || props.disabled}
    >
      {submit}
    </button>
  );
  return (
    <form
      class={FORM_CLASSES[at]}
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      <FormProblem.Provider value={problem}>{props.children}</FormProblem.Provider>
      {!problem?.isInput && <Problem problem={problem} />}
      {at === "signed-out" ? (
        button
      ) : (
        <div class={at === "dialog" ? "row row-end" : "row"}>
          {cancel && <Button onClick={leave}>Cancel</Button>}
          {button}
        </div>
      )}
    </form>
  );
}

/** The texts of a form's fields, by the names that the API gives them. */
export function useFields<Values extends Record<string, string>>(initial: Values) {
  const [values, setValues] = useState(initial);
  return {
    values,
    /** The values that are not empty. */
    filled: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")) as Partial<Values>,
    clear: () => setValues(initial),
    /** Returns the properties of a field's control. */
    field: (param: keyof Values & string) => ({
      param,
      value: values[param] as string,
      onValue: (value: string) => setValues((old) => ({ ...old, [param]: value })),
    }),
  };
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** The name of this field in the API. A problem of the form that names it is shown here. */
  param?: string;
  value: string;
  onValue(value: string): void;
}

interface Control {
  attributes: { id: string; value: string; "aria-describedby": string | undefined; "aria-invalid": boolean };
  onEdit(event: { currentTarget: { value: string } }): void;
}

/** A label, the control that `children` renders, the hint, and what is wrong with the value. */
function Field(props: FieldProps & { children(control: Control): ComponentChildren }) {
  const { label, hint, param, value, onValue, children } = props;
  const id = useId();
  const problem = useContext(FormProblem);
  const isWrong = problem !== null && problem.param !== null && problem.param === param;
  const hidden = hiddenIn(value);
  const describedBy = [
    hint !== undefined && `${id}-hint`,
    hidden.length > 0 && `${id}-hidden`,
    isWrong && `${id}-error`,
  ]
    .filter(Boolean)
    .join(" ");
  const attributes = { id, value, "aria-describedby": describedBy || undefined, "aria-invalid": isWrong };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ attributes, onEdit: (event) => onValue(event.currentTarget.value) })}
      {hint !== undefined && (
        <p class="hint faint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {hidden.length > 0 && (
        <p class="hint warn" id={`${id}-hidden`}>
          It contains characters that cannot be seen here: {hidden.join(" ")}
        </p>
      )}
      {isWrong && (
        <p class="hint bad" id={`${id}-error`}>
          {problem.message}
        </p>
      )}
    </div>
  );
}

/** The attributes of a text input that this dashboard uses; the library's own type is a union over all kinds. */
interface InputAttributes {
  type?: "email" | "password";
  autocomplete?:
    | "name"
    | "username"
    | "username webauthn"
    | "current-password"
    | "new-password"
    | "one-time-code"
    | "off";
  required?: boolean;
  autofocus?: boolean;
  spellcheck?: boolean;
  placeholder?: string;
  minLength?: number;
  inputMode?: "numeric";
  pattern?: string;
  class?: string;
  title?: string;
}

export type TextFieldProps = FieldProps & InputAttributes;

export function TextField({ label, hint, param, value, onValue, ...input }: TextFieldProps) {
  return (
    <Field {...{ label, hint, value, onValue }} {...(param && { param })}>
      {({ attributes, onEdit }) => <input {...(input as object)} {...attributes} onInput={onEdit} />}
    </Field>
  );
}

/** Several lines of text; `code` for text in a fixed-width font. */
export function TextArea({ rows = 4, code = false, ...field }: FieldProps & { rows?: number; code?: boolean }) {
  return (
    <Field {...field}>
      {({ attributes, onEdit }) => (
        <textarea {...attributes} class={code ? "code" : undefined} spellcheck={!code} rows={rows} onInput={onEdit} />
      )}
    </Field>
  );
}

type Option = readonly [value: string, label: string];

export function Select({ options, ...field }: FieldProps & { options: readonly Option[] }) {
  return (
    <Field {...field}>
      {({ attributes, onEdit }) => (
        <select {...attributes} onChange={onEdit}>
          {options.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A point in time in the reader's zone, as `datetime-local` writes it. */
export function Moment(field: FieldProps) {
  return (
    <Field {...field}>
      {({ attributes, onEdit }) => <input type="datetime-local" {...attributes} onChange={onEdit} />}
    </Field>
  );
}

interface CheckProps {
  label: ComponentChildren;
  hint?: ComponentChildren;
  checked: boolean;
  disabled?: boolean;
  onChecked(checked: boolean): void;
}

export function Check({ label, hint, checked, disabled = false, onChecked }: CheckProps) {
  const id = useId();
  return (
    <div class="check">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <p class="hint faint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
