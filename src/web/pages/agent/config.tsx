/** The configuration as a form. Saving makes a new version. */
import { useState } from "preact/hooks";
import { allPolicies } from "../../../policy/policies.ts";
import type { SettingForm } from "../../../policy/policy.ts";
import { isCode, orNull, segment } from "../../api/client.ts";
import type { ConfigVersion } from "../../api/types.ts";
import { type Action, changesConfig, type Loaded, useAction, useAsk, useEvents, useLoad } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useRoom } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Check, FormProblem, TextArea, TextField } from "../../ui/field.tsx";
import { Actor, Time } from "../../ui/inline.tsx";
import { say } from "../../ui/notices.tsx";
import { Problem, Show } from "../../ui/parts.tsx";
import { type Draft, draftOf, toConfig } from "./config-draft.ts";

/** Loads the configuration in force, null when there is none yet. */
export function useConfig(agentId: string): Loaded<ConfigVersion | null> {
  const { id, api } = useRoom();
  return useLoad<ConfigVersion | null>(`${id} ${agentId}`, (signal) =>
    orNull("config_not_found", api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`, { signal })),
  );
}

export function ConfigTab({ agentId }: { agentId: string }) {
  const config = useConfig(agentId);
  return (
    // What the user is typing stays when a newer version arrives.
    <Show of={config}>
      {(current) => (
        <ConfigEditor key={agentId} {...{ agentId, current }} onSaved={(saved) => config.set(() => saved)} />
      )}
    </Show>
  );
}

interface EditorProps {
  agentId: string;
  current: ConfigVersion | null;
  onSaved(saved: ConfigVersion): void;
}

function ConfigEditor({ agentId, current, onSaved }: EditorProps) {
  const { api, canWrite } = useRoom();
  /** The version that the draft started from. Saving fails when it is no longer in force. */
  const [base, setBase] = useState(current);
  const [draft, setDraft] = useState<Draft>(() => draftOf(current?.config ?? {}));
  const [newer, setNewer] = useState<string | null>(null);
  useEvents((event) => {
    if (!changesConfig(agentId, event)) return;
    const version = event.details?.version ?? event.details?.config_version;
    if (typeof version === "string" && version !== base?.version) setNewer(version);
  });
  const start = (from: ConfigVersion | null) => {
    setBase(from);
    setDraft(draftOf(from?.config ?? {}));
    setNewer(null);
  };
  const save = useAction(async (over: string | null) => {
    const saved = await api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`, {
      method: "PUT",
      body: toConfig(draft),
      headers: over === null ? {} : { "if-match": `"${over}"` },
    });
    onSaved(saved);
    start(saved);
    say(`Saved as ${saved.version}. Its policies apply to every write.`);
  });
  const takeTheirs = useAction(async () => {
    const theirs = await api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`);
    onSaved(theirs);
    start(theirs);
    save.clear();
  });
  const changed = JSON.stringify(draft) !== JSON.stringify(draftOf(base?.config ?? {}));
  const conflict = isCode(save.problem, "version_conflict");
  return (
    <form
      class="stack config-form"
      onSubmit={(event) => {
        event.preventDefault();
        void save.run(base?.version ?? null);
      }}
    >
      <p class="faint">
        {base === null ? (
          "No configuration yet: every write is allowed and recorded."
        ) : (
          <>
            <strong>{base.version}</strong> in force, saved <Time at={base.created_at} /> by{" "}
            <Actor id={base.created_by} />
            {base.rolled_back_from !== null && <> (rolled back to {base.rolled_back_from})</>}
          </>
        )}
      </p>
      {newer !== null && !conflict && (
        <div class="callout tone-warn row" role="status">
          <span>
            <strong>{newer}</strong> was saved in the meantime
            {changed ? "; what you typed is still here." : "."}
          </span>
          <Button onClick={() => takeTheirs.run()}>Show {newer}</Button>
        </div>
      )}
      <Fields draft={draft} onDraft={setDraft} save={save} disabled={!canWrite} />
      {conflict ? (
        <Conflict {...{ agentId, save, takeTheirs }} base={base?.version ?? null} />
      ) : (
        !save.problem?.isInput && <Problem problem={save.problem} />
      )}
      <Problem problem={takeTheirs.problem} />
      {canWrite ? (
        <div class={changed ? "row form-foot form-foot-changed" : "row form-foot"}>
          <button type="submit" class="button button-primary" disabled={save.busy || (!changed && base !== null)}>
            Save as a new version
          </button>
          {changed && base !== null && <Button onClick={() => start(base)}>Discard changes</Button>}
        </div>
      ) : (
        <p class="faint">As an auditor you read configurations; changing them needs a member.</p>
      )}
    </form>
  );
}

interface ConflictProps {
  agentId: string;
  save: Action<[string | null]>;
  takeTheirs: Action<[]>;
  base: string | null;
}

/** After 412 because somebody else saved first: the user decides, and nothing is lost. */
function Conflict({ agentId, save, takeTheirs, base }: ConflictProps) {
  const { id } = useRoom();
  const theirs = useAsk<ConfigVersion>(`/v1/config/${segment(agentId)}`);
  const version = theirs.data?.version ?? "a newer version";
  return (
    <Problem problem={save.problem}>
      <p>
        {theirs.data === undefined ? (
          "Somebody saved a newer version in the meantime."
        ) : (
          <>
            <Actor id={theirs.data.created_by} /> saved <strong>{version}</strong> <Time at={theirs.data.created_at} />.
          </>
        )}{" "}
        What you typed is still here.
      </p>
      {theirs.data !== undefined && (
        <>
          {base !== null && (
            <Button
              onClick={() => open(`${paths.versions(id, agentId)}?from=${base}&to=${version}`, "_blank", "noopener")}
            >
              See what changed
            </Button>
          )}
          <Button onClick={() => takeTheirs.run()}>Take {version}, drop mine</Button>
          <Button kind="danger" onClick={() => save.run(version)}>
            Save mine over {version}
          </Button>
        </>
      )}
    </Problem>
  );
}

interface FieldsProps {
  draft: Draft;
  onDraft(draft: Draft): void;
  save: Action<[string | null]>;
  disabled: boolean;
}

interface PolicyFieldProps {
  param: string;
  form: SettingForm;
  display: { label: string; hint: string };
  setting: boolean | string;
  onSetting(setting: boolean | string): void;
}

function PolicyField({ param, form, display: { label, hint }, setting, onSetting }: PolicyFieldProps) {
  if (typeof setting === "boolean") return <Check label={label} hint={hint} checked={setting} onChecked={onSetting} />;
  if (form.type === "object") {
    const rows = Math.min(16, setting.split("\n").length + 1);
    return <TextArea label={label} hint={hint} value={setting} onValue={onSetting} param={param} code rows={rows} />;
  }
  return (
    <TextField
      label={label}
      hint={hint}
      value={setting}
      onValue={onSetting}
      param={param}
      inputMode="numeric"
      pattern="[0-9]*"
      class="narrow"
      title="A whole number"
    />
  );
}

function Fields({ draft, onDraft, save, disabled }: FieldsProps) {
  const field = (param: "model" | "instructions" | "rest") => ({
    param,
    value: draft[param],
    onValue: (value: string) => onDraft({ ...draft, [param]: value }),
  });
  const problem = isCode(save.problem, "version_conflict") ? null : save.problem;
  return (
    <FormProblem.Provider value={problem}>
      <fieldset class="card" disabled={disabled}>
        <legend>Policies</legend>
        <p class="faint small">The daemon enforces them on every write, whatever the agent is told.</p>
        {allPolicies().map(([name, { form, display }]) => (
          <PolicyField
            key={name}
            param={`policies.${name}`}
            form={form}
            display={display}
            setting={draft.policies[name] as boolean | string}
            onSetting={(setting) => onDraft({ ...draft, policies: { ...draft.policies, [name]: setting } })}
          />
        ))}
      </fieldset>
      <fieldset class="card" disabled={disabled}>
        <legend>For the agent</legend>
        <p class="faint small">Stored and versioned as given. The agent reads it; the daemon enforces none of it.</p>
        <TextField label="Model" {...field("model")} spellcheck={false} />
        <TextArea label="Instructions" {...field("instructions")} rows={6} />
        <TextArea
          label="Everything else (JSON)"
          hint="An object with any other members that the agent uses."
          {...field("rest")}
          code
          rows={Math.min(16, Math.max(4, draft.rest.split("\n").length + 1))}
        />
      </fieldset>
    </FormProblem.Provider>
  );
}
