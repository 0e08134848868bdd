/** A labelled control with its hint and its error, joined for who listens. */
import type { ComponentChildren, TextareaHTMLAttributes } from "preact";
import { useId } from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** The request's problem, which may be about this field. */
  problem?: ApiProblem | null | undefined;
  /** The name of this field in the API. */
  param?: string;
  /** What is wrong with it, found here. */
  error?: string | null;
}

function useField({ hint, problem, param, error }: FieldProps) {
  const id = useId();
  const wrong = error ?? (problem?.param != null && problem.param === param ? problem.message : null);
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  const errorId = wrong === null ? undefined : `${id}-error`;
  const describedBy = [hintId, errorId].filter(Boolean).join(" ") || undefined;
  return {
    id,
    wrong,
    hintId,
    errorId,
    aria: { "aria-describedby": describedBy, "aria-invalid": wrong !== null },
  };
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

type Own = "label" | "value" | "onChange";

interface ValueProps extends FieldProps {
  value: string;
  onValue(value: string): void;
}

/** What a text input of this dashboard may be told; the library's own type is a union over all kinds. */
interface InputAttributes {
  type?: "text" | "email" | "password" | "search";
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

export function TextArea(
  props: ValueProps & { rows?: number; code?: boolean; attributes?: Omit<TextareaHTMLAttributes, Own> },
) {
  const field = useField(props);
  return (
    <Frame {...props} field={field}>
      <textarea
        {...props.attributes}
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

export function Select(
  props: ValueProps & { options: readonly (readonly [value: string, label: string])[] },
) {
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
