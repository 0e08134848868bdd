/** Tries a text: shows what the policies would find in it and what would be stored. */
import { useState } from "preact/hooks";
import { ifComplete } from "../../api/problem.ts";
import type { CheckResult, Finding } from "../../api/types.ts";
import { useAction } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { TextArea, TextField } from "../../ui/field.tsx";
import { Badge, type Tone } from "../../ui/inline.tsx";
import { Findings, Marked, Problem, policyName } from "../../ui/parts.tsx";
import type { Edited } from "./edited.ts";

/** Which policies decide: the policies in force, or the form's. */
type Under = "force" | "form";

/** An answer, with the tried texts. */
interface Checked {
  answer: CheckResult;
  text: string;
  key: string;
  /** The request, to detect an answer to an earlier one. */
  request: string;
}

export function Playground({ edited }: { edited: Edited }) {
  const { agentId, changed } = edited;
  const { api } = useAccess();
  const [text, setText] = useState("");
  const [key, setKey] = useState("");
  const [chosen, setUnder] = useState<Under | null>(null);
  const [checked, setChecked] = useState<Checked | null>(null);
  const under = chosen ?? (changed ? "form" : "force");
  const request = () => ({
    value: text,
    ...(key !== "" && { key }),
    ...(agentId !== null && { agent_id: agentId }),
    ...(under === "form" && { policies: edited.policies() }),
  });
  const check = useAction(async () => {
    const body = request();
    const answer = await api.ask<CheckResult>("/v1/policies/check", { body });
    setChecked({ answer, text, key, request: JSON.stringify(body) });
  });
  return (
    <section class="card stack" aria-label="Try a text">
      <div class="section-head">
        <h2>Try a text</h2>
        <UnderChoice under={under} onUnder={setUnder} />
      </div>
      <p class="faint small">{UNDER_WORDS[under](agentId)}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void check.run();
        }}
      >
        <TextArea
          label="Text"
          hint="It is not stored, and the audit log does not hold it."
          rows={4}
          param="value"
          value={text}
          onValue={setText}
        />
        <TextField
          label="Key"
          hint="Optional: patterns and exceptions may be for some keys only."
          param="key"
          value={key}
          onValue={setKey}
          spellcheck={false}
          autocomplete="off"
        />
        <div class="row">
          <button type="submit" class="button" disabled={check.busy}>
            Check
          </button>
        </div>
      </form>
      <Problem problem={check.problem} />
      {checked !== null && check.problem === null && (
        <Outcome checked={checked} isOld={checked.request !== ifComplete(() => JSON.stringify(request()))} />
      )}
    </section>
  );
}

const UNDER_WORDS: Record<Under, (agentId: string | null) => string> = {
  force: (agentId) =>
    agentId === null
      ? "Under the workspace's policies as they are saved."
      : "As the agent would write it: under its policies as they are saved, and the workspace's.",
  form: (agentId) =>
    agentId === null
      ? "Under the policies in the form."
      : "Under the policies in the form alone. The workspace's policies hold besides.",
};

function UnderChoice({ under, onUnder }: { under: Under; onUnder(under: Under): void }) {
  return (
    <fieldset class="segments">
      <legend class="sr-only">Policies that decide</legend>
      {(["force", "form"] as const).map((each) => (
        <button key={each} type="button" aria-pressed={each === under} onClick={() => onUnder(each)}>
          {each === "force" ? "Saved" : "In the form"}
        </button>
      ))}
    </fieldset>
  );
}

/** The result of the write, in a word. */
function verdictOf(answer: CheckResult): readonly [Tone, string] {
  if (!answer.allowed) return ["bad", `Blocked by ${policyName(answer.blocked_by)}`];
  if (answer.redacted) return ["warn", "Stored, redacted"];
  return (answer.findings ?? []).length > 0 ? ["accent", "Stored, reported"] : ["good", "Stored"];
}

function Outcome({ checked: { answer, text, key }, isOld }: { checked: Checked; isOld: boolean }) {
  const [tone, verdict] = verdictOf(answer);
  const findings: readonly Finding[] = answer.findings ?? [];
  const inField = (name: string) => findings.filter(({ field }) => field === name);
  return (
    <div class={isOld ? "stack outcome outcome-old" : "stack outcome"} role="status">
      <p>
        <Badge tone={tone}>{verdict}</Badge> <span class="small">{answer.message}</span>
      </p>
      {isOld && <p class="small faint">The text or the policies have changed since.</p>}
      {findings.length > 0 && <Findings findings={findings} withModes />}
      {inField("key").length > 0 && <Marked text={key} findings={inField("key")} />}
      {inField("value").length > 0 && <Marked text={text} findings={inField("value")} />}
      {answer.allowed && (
        <>
          <h3 class="small">What would be stored</h3>
          <pre class="marked">{answer.redacted_value ?? text}</pre>
        </>
      )}
    </div>
  );
}
