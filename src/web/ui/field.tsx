/** Forms, and labelled controls with a hint and an error that screen readers read with them. */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";
import type { Action } from "../state/load.ts";
import { Button } from "./button.tsx";
import { Problem } from "./problem.tsx";

/** The problem of the form around a field, which may be about this field. */
export const FormProblem = createContext<ApiProblem | null>(null);

interface FormProps {
  /** What submitting the form does. */
  action: Pick<Action<[]>, "run" | "busy" | "problem">;
  /** The text of the button. */
  submit: string;
  kind?: "plain" | "primary" | "danger";
  /** Where the form stands, which decides where its button does. */
  at?: "dialog" | "door" | "page";
  disabled?: boolean;
  /** One of the fields shows the problem already. */
  shownByField?: boolean;
  /** Adds a button that gives up. */
  onCancel?(): void;
  children: ComponentChildren;
}

/** Fields that one action sends, and what went wrong with it. */
export function Form({ action, submit, kind = "primary", at = "dialog", ...props }: FormProps) {
  const button = (
    <button
      type="submit"
      class={`button button-${kind} ${at === "door" ? "button-wide" : ""}`}
      disabled={action.busy || props.disabled}
    >
      {submit}
    </button>
  );
  return (
    <form
      class={at === "page" ? "card stack narrow-form" : "stack"}
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      <FormProblem.Provider value={action.problem}>{props.children}</FormProblem.Provider>
      {!props.shownByField && <Problem problem={action.problem} />}
      {at === "door" ? (
        button
      ) : (
        <div class={at === "page" ? "row" : "row row-end"}>
          {props.onCancel !== undefined && <Button onClick={props.onCancel}>Cancel</Button>}
          {button}
        </div>
      )}
    </form>
  );
}

/** The text of a field, as the properties that the field takes. */
export function useText(initial = "") {
  const [value, onValue] = useState(initial);
  return { value, onValue };
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** The name of this field in the API. */
  param?: string;
  /** What is wrong with it, found here. */
  error?: string | null;
}

function useField({ hint, param, error }: FieldProps) {
  const id = useId();
  const problem = useContext(FormProblem);
  const wrong = error ?? (problem?.param != null && problem.param === param ? problem.message : null);
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  const errorId = wrong === null ? undefined : `${id}-error`;
  const describedBy = [hintId, errorId].filter(Boolean).join(" ") || undefined;
  return { id, wrong, hintId, errorId, aria: { "aria-describedby": describedBy, "aria-invalid": wrong !== null } };
}

function Frame(props: FieldProps & { field: ReturnType<typeof useField>; children: ComponentChildren }) {
  const { label, hint, field, children } = props;
  return (
    <div class="field">
      <label for={field.id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={field.hintId}>
          {hint}
        </p>
      )}
      {field.wrong !== null && (
        <p class="hint bad" id={field.errorId}>
          {field.wrong}
        </p>
      )}
    </div>
  );
}

interface ValueProps extends FieldProps {
  value: string;
  onValue(value: string): void;
}

/** What a text input of this dashboard may be told; the library's own type is a union over all kinds. */
interface InputAttributes {
  type?: "email" | "password";
  autocomplete?: "name" | "username" | "current-password" | "new-password" | "one-time-code" | "off";
  required?: boolean;
  autofocus?: boolean;
  spellcheck?: boolean;
  minLength?: number;
  inputMode?: "numeric";
  pattern?: string;
  class?: string;
  title?: string;
}

export function TextField(props: ValueProps & { attributes?: InputAttributes }) {
  const field = useField(props);
  return (
    <Frame {...props} field={field}>
      <input
        {...(props.attributes as object)}
        {...field.aria}
        id={field.id}
        value={props.value}
        onInput={(event) => props.onValue(event.currentTarget.value)}
      />
    </Frame>
  );
}

/** Several lines of text; `code` for text in a fixed-width font. */
export function TextArea(props: ValueProps & { rows?: number; code?: boolean }) {
  const field = useField(props);
  return (
    <Frame {...props} field={field}>
      <textarea
        {...field.aria}
        id={field.id}
        class={props.code ? "code" : undefined}
        spellcheck={!props.code}
        rows={props.rows ?? 4}
        value={props.value}
        onInput={(event) => props.onValue(event.currentTarget.value)}
      />
    </Frame>
  );
}

export function Select(props: ValueProps & { options: readonly (readonly [value: string, label: string])[] }) {
  const field = useField(props);
  return (
    <Frame {...props} field={field}>
      <select
        {...field.aria}
        id={field.id}
        value={props.value}
        onChange={(event) => props.onValue(event.currentTarget.value)}
      >
        {props.options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

/** A point in time in the reader's zone, as `datetime-local` writes it. */
export function Moment(props: ValueProps) {
  const field = useField(props);
  return (
    <Frame {...props} field={field}>
      <input
        type="datetime-local"
        {...field.aria}
        id={field.id}
        value={props.value}
        onChange={(event) => props.onValue(event.currentTarget.value)}
      />
    </Frame>
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
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
