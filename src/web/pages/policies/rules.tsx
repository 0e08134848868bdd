/** The lists in the policies' form: own patterns, and exceptions. */
import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { DETECTORS } from "../../../screen/detectors.ts";
import { MODES, type Mode } from "../../../screen/modes.ts";
import { type ExceptionSetting, MAX_EXCEPTIONS, MAX_PATTERNS, type PatternSetting } from "../../../screen/screening.ts";
import { Button } from "../../ui/button.tsx";
import { Check, FormProblem, Moment, Select, TextArea, TextField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Badge, MODE_TONES, type Tone } from "../../ui/inline.tsx";
import type { ExceptionTyped, PatternTyped, Row } from "./draft.ts";
import { detectorName, MODE_OPTIONS } from "./words.ts";

interface RulesProps<Typed, Setting> {
  rows: readonly Row<Typed, Setting>[];
  onRows(rows: readonly Row<Typed, Setting>[]): void;
  disabled: boolean;
}

interface ListProps<Typed, Setting> extends RulesProps<Typed, Setting> {
  legend: string;
  hint: ComponentChildren;
  /** The noun for an item: "pattern". */
  one: string;
  /** The member of the policies that holds the list. */
  param: string;
  most: number;
  empty: Typed;
  title(typed: Typed): readonly [name: string, badge: string, tone: Tone];
  children(typed: Typed, param: string, set: (change: Partial<Typed>) => void): ComponentChildren;
}

function RuleList<Typed, Setting>(props: ListProps<Typed, Setting>) {
  const { rows, onRows, disabled, legend, hint, one, param, most, empty, title, children } = props;
  const problem = useContext(FormProblem);
  const add = () => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1;
    onRows([...rows, { id, typed: empty, origin: null }]);
  };
  return (
    <fieldset class="card" disabled={disabled}>
      <legend>{legend}</legend>
      <p class="faint small">{hint}</p>
      {rows.map((row, at) => {
        const own = `${param}[${at}]`;
        const [name, badge, tone] = title(row.typed);
        const isOpen = row.origin === null || problem?.param?.startsWith(own) === true;
        const set = (change: Partial<Typed>) => onRows(rows.with(at, { ...row, typed: { ...row.typed, ...change } }));
        return (
          <details key={row.id} class="rule" open={isOpen}>
            <summary>
              <span class="rule-name">{name === "" ? `New ${one}` : name}</span> <Badge tone={tone}>{badge}</Badge>
            </summary>
            <fieldset class="rule-fields">
              <legend class="sr-only">{`${one} ${at + 1}`}</legend>
              {children(row.typed, own, set)}
              {!disabled && (
                <div>
                  <Button
                    kind="danger-quiet"
                    small
                    aria-label={`Remove ${one} ${at + 1}`}
                    onClick={() => onRows(rows.toSpliced(at, 1))}
                  >
                    Remove
                  </Button>
                </div>
              )}
            </fieldset>
          </details>
        );
      })}
      {!disabled && (
        <div>
          <Button small onClick={add} disabled={rows.length >= most}>
            <Icon name="plus" />
            {`Add ${/^[aeiou]/.test(one) ? "an" : "a"} ${one}`}
          </Button>
          {rows.length >= most && <span class="faint small"> At most {most}.</span>}
        </div>
      )}
    </fieldset>
  );
}

const NEW_PATTERN: PatternTyped = { name: "", regex: "", ignore_case: false, mode: "audit", prefixes: "" };

export function PatternRules(props: RulesProps<PatternTyped, PatternSetting>) {
  return (
    <RuleList
      {...props}
      legend="Patterns of your own"
      hint="Regular expressions in RE2 syntax. Findings and replacements show the name."
      one="pattern"
      param="policies.screening.patterns"
      most={MAX_PATTERNS}
      empty={NEW_PATTERN}
      title={({ name, mode }) => [name, mode, MODE_TONES[mode]]}
    >
      {(typed, param, set) => (
        <>
          <TextField
            label="Name"
            hint="a-z, 0-9 and _"
            param={`${param}.name`}
            value={typed.name}
            onValue={(name) => set({ name })}
            spellcheck={false}
            autocomplete="off"
          />
          <Select
            label="Mode"
            param={`${param}.mode`}
            value={typed.mode}
            onValue={(mode) => set({ mode: mode as Mode })}
            options={MODES.map((mode) => [mode, MODE_OPTIONS[mode]])}
          />
          <div class="rule-wide">
            <TextField
              label="Regular expression"
              hint={
                <>
                  Such as <code>{"\\bPRJ-[0-9]{5}\\b"}</code>
                </>
              }
              param={`${param}.regex`}
              value={typed.regex}
              onValue={(regex) => set({ regex })}
              spellcheck={false}
              autocomplete="off"
              class="code"
            />
          </div>
          <Prefixes param={param} value={typed.prefixes} onValue={(prefixes) => set({ prefixes })} />
          <Check label="Ignore case" checked={typed.ignore_case} onChecked={(ignore_case) => set({ ignore_case })} />
        </>
      )}
    </RuleList>
  );
}

const NEW_EXCEPTION: ExceptionTyped = {
  detector: "email",
  how: "equals",
  text: "",
  prefixes: "",
  reason: "",
  expires_at: "",
};

interface ExceptionProps extends RulesProps<ExceptionTyped, ExceptionSetting> {
  /** The names of the patterns. */
  patterns: readonly string[];
}

export function ExceptionRules({ patterns, ...props }: ExceptionProps) {
  const known = [...Object.keys(DETECTORS), ...patterns.filter((name) => name !== "")];
  return (
    <RuleList
      {...props}
      legend="Exceptions"
      hint="Matches that are left alone, under every mode. The audit log counts them and never holds the text."
      one="exception"
      param="policies.screening.exceptions"
      most={MAX_EXCEPTIONS}
      empty={NEW_EXCEPTION}
      title={({ text, detector }) => [text, detectorName(detector), "plain"]}
    >
      {(typed, param, set) => (
        <>
          <Select
            label="Detector"
            param={`${param}.detector`}
            value={typed.detector}
            onValue={(detector) => set({ detector })}
            options={[...new Set([...known, typed.detector])].map((name) => [name, detectorName(name)])}
          />
          <Select
            label="The matched text"
            value={typed.how}
            onValue={(how) => set({ how: how as ExceptionTyped["how"] })}
            options={[
              ["equals", "is"],
              ["ends_with", "ends with"],
            ]}
          />
          <TextField
            label="Text"
            param={`${param}.${typed.how}`}
            value={typed.text}
            onValue={(text) => set({ text })}
            spellcheck={false}
            autocomplete="off"
          />
          <TextField
            label="Reason"
            param={`${param}.reason`}
            value={typed.reason}
            onValue={(reason) => set({ reason })}
          />
          <Prefixes param={param} value={typed.prefixes} onValue={(prefixes) => set({ prefixes })} />
          <Moment
            label="Ends"
            hint="Empty: never."
            param={`${param}.expires_at`}
            value={typed.expires_at}
            onValue={(expires_at) => set({ expires_at })}
          />
        </>
      )}
    </RuleList>
  );
}

function Prefixes({ param, ...field }: { param: string; value: string; onValue(value: string): void }) {
  return (
    <TextArea
      label="Only keys that begin with"
      hint="One prefix in each line. Empty: every key."
      param={`${param}.prefixes`}
      rows={2}
      code
      {...field}
    />
  );
}
