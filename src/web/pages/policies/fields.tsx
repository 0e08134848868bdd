/** The form's controls for policies: the same for the workspace and for an agent. */
import type { ComponentChildren } from "preact";
import { DETECTORS, type DetectorName } from "../../../screen/detectors.ts";
import { LIMIT_FORMS, LIMITS } from "../../../screen/limits.ts";
import { type Kind, MODES, type Mode } from "../../../screen/modes.ts";
import { contentPolicies } from "../../../screen/policies.ts";
import { Check, Select, TextField } from "../../ui/field.tsx";
import { Badge } from "../../ui/inline.tsx";
import { type KindDraft, LIMIT_NAMES, type PolicyDraft, singlePolicies } from "./draft.ts";
import { ExceptionRules, PatternRules } from "./rules.tsx";
import { detectorName, MODE_OPTIONS } from "./words.ts";

interface Props {
  draft: PolicyDraft;
  onDraft(draft: PolicyDraft): void;
  disabled: boolean;
  /** More controls, at the end. */
  children?: ComponentChildren;
}

/** The policies that have a kind of detectors, each with that kind. */
const KINDS = contentPolicies().flatMap(([name, { kind, forbids, display }]) =>
  kind === null ? [] : [{ name, kind, forbids, display }],
);

export function PolicyFields({ draft, onDraft, disabled, children }: Props) {
  const setSetting = (name: string) => (setting: boolean | string) =>
    onDraft({ ...draft, settings: { ...draft.settings, [name]: setting } });
  const others = singlePolicies().filter(([name]) => KINDS.every((kind) => kind.name !== name));
  return (
    <>
      {KINDS.map(({ name, kind, forbids, display }) => (
        <fieldset key={name} class="card" disabled={disabled}>
          <legend>{forbids.charAt(0).toUpperCase() + forbids.slice(1)}</legend>
          <Check {...display} checked={draft.settings[name] === true} onChecked={setSetting(name)} />
          <KindFields
            kind={kind}
            policy={name}
            blocks={draft.settings[name] === true}
            draft={draft.kinds[kind]}
            onDraft={(next) => onDraft({ ...draft, kinds: { ...draft.kinds, [kind]: next } })}
          />
        </fieldset>
      ))}
      <PatternRules rows={draft.patterns} onRows={(patterns) => onDraft({ ...draft, patterns })} disabled={disabled} />
      <ExceptionRules
        rows={draft.exceptions}
        patterns={draft.patterns.map(({ typed }) => typed.name)}
        onRows={(exceptions) => onDraft({ ...draft, exceptions })}
        disabled={disabled}
      />
      <fieldset class="card" disabled={disabled}>
        <legend>Data and limits</legend>
        {others.map(([name, { display }]) => (
          <SingleField
            key={name}
            param={`policies.${name}`}
            display={display}
            setting={draft.settings[name] as boolean | string}
            onSetting={setSetting(name)}
          />
        ))}
        {LIMIT_NAMES.map((name) => (
          <NumberField
            key={name}
            label={LIMIT_FORMS[name].words}
            hint="Writes of an agent beyond it are refused. Empty: no limit."
            param={`policies.${LIMITS}.${name}`}
            value={draft.limits[name]}
            onValue={(typed) => onDraft({ ...draft, limits: { ...draft.limits, [name]: typed } })}
          />
        ))}
      </fieldset>
      {children}
    </>
  );
}

interface KindProps {
  kind: Kind;
  policy: string;
  /** Whether the policy blocks all of the kind. */
  blocks: boolean;
  draft: KindDraft;
  onDraft(draft: KindDraft): void;
}

/** What happens where the detectors of a kind match. */
function KindFields({ kind, policy, blocks, draft, onDraft }: KindProps) {
  const names = (Object.keys(DETECTORS) as DetectorName[]).filter((name) => DETECTORS[name].policy === policy);
  const set = Object.keys(draft.detectors).length;
  const setDetector = (name: string, mode: string) => {
    const { [name]: _, ...rest } = draft.detectors;
    onDraft({ ...draft, detectors: mode === "" ? rest : { ...rest, [name]: mode as Mode } });
  };
  return (
    <>
      <Select
        label={blocks ? "Mode without that" : "Mode"}
        hint={
          blocks
            ? "All of it is blocked, whatever is chosen here and below."
            : "What happens to a match, unless its detector is set below."
        }
        param={`policies.screening.${kind}.mode`}
        value={draft.mode}
        onValue={(mode) => onDraft({ ...draft, mode: mode as Mode })}
        options={MODES.map((mode) => [mode, MODE_OPTIONS[mode]])}
      />
      <details class="detectors">
        <summary>Single detectors {set > 0 && <Badge tone="accent">{`${set} set`}</Badge>}</summary>
        <div class="detector-grid">
          {names.map((name) => (
            <Select
              key={name}
              label={detectorName(name)}
              value={draft.detectors[name] ?? ""}
              onValue={(mode) => setDetector(name, mode)}
              options={[["", `As all: ${draft.mode}`], ...MODES.map((mode) => [mode, MODE_OPTIONS[mode]] as const)]}
            />
          ))}
        </div>
      </details>
    </>
  );
}

interface SingleProps {
  param: string;
  display: { label: string; hint: string };
  setting: boolean | string;
  onSetting(setting: boolean | string): void;
}

/** A policy that has one control. */
function SingleField({ param, display: { label, hint }, setting, onSetting }: SingleProps) {
  if (typeof setting === "boolean") return <Check label={label} hint={hint} checked={setting} onChecked={onSetting} />;
  return <NumberField label={label} hint={hint} param={param} value={setting} onValue={onSetting} />;
}

interface NumberProps {
  label: string;
  hint: string;
  param: string;
  value: string;
  onValue(value: string): void;
}

function NumberField(props: NumberProps) {
  return <TextField {...props} inputMode="numeric" pattern="[0-9]*" class="narrow" title="A whole number" />;
}
