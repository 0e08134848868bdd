/** The configuration as a form. Saving makes a new version. */
import { useState } from "preact/hooks";
import { allPolicies } from "../../../policy/policies.ts";
import { isCode, segment } from "../../api/client.ts";
import type { ConfigVersion } from "../../api/types.ts";
import { changesConfig, useEvents } from "../../state/events.ts";
import { type Action, type Loaded, useAction, useAsk, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Button } from "../../ui/button.tsx";
import { Check, FormProblem, TextArea, TextField } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { type Draft, draftOf, toConfig } from "./config-draft.ts";

interface Props {
  room: Room;
  agentId: string;
}

/** Loads the configuration in force, null when there is none yet. */
export function useConfig({ room, agentId }: Props): Loaded<ConfigVersion | null> {
  return useLoad<ConfigVersion | null>(`${room.workspace.id} ${agentId}`, async (signal) => {
    try {
      return await room.api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`, { signal });
    } catch (error) {
      if (isCode(error, "config_not_found")) return null;
      throw error;
    }
  });
}

export function ConfigTab(props: Props) {
  const config = useConfig(props);
  return (
    <Show of={config}>
      {(current) => (
        // What the user is typing stays when a newer version arrives.
        <ConfigEditor
          key={props.agentId}
          {...props}
          current={current}
          onSaved={(saved) => config.set(() => saved)}
          onReload={config.reload}
        />
      )}
    </Show>
  );
}

interface EditorProps extends Props {
  current: ConfigVersion | null;
  onSaved(saved: ConfigVersion): void;
  onReload(): void;
}

function ConfigEditor({ room, agentId, current, onSaved, onReload }: EditorProps) {
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
    const saved = await room.api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`, {
      method: "PUT",
      body: toConfig(draft),
      headers: over === null ? {} : { "if-match": `"${over}"` },
    });
    onSaved(saved);
    start(saved);
    say(`Saved as ${saved.version}. Its policies apply to every write.`);
  });
  const takeTheirs = useAction(async () => {
    start(await room.api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`));
    save.clear();
    onReload();
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
        <div class="callout callout-warn row" role="status">
          <span>
            <strong>{newer}</strong> was saved in the meantime
            {changed ? "; what you typed is still here." : "."}
          </span>
          <Button onClick={() => takeTheirs.run()}>Show {newer}</Button>
        </div>
      )}
      <Fields draft={draft} onDraft={setDraft} save={save} disabled={!room.canWrite} />
      {conflict ? (
        <Conflict room={room} agentId={agentId} save={save} takeTheirs={takeTheirs} base={base?.version ?? null} />
      ) : (
        <Problem problem={save.problem} />
      )}
      <Problem problem={takeTheirs.problem} />
      {room.canWrite ? (
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

interface ConflictProps extends Props {
  save: Action<[string | null]>;
  takeTheirs: Action<[]>;
  base: string | null;
}

/** After 412 because somebody else saved first: the user decides, and nothing is lost. */
function Conflict({ room, agentId, save, takeTheirs, base }: ConflictProps) {
  const theirs = useAsk<ConfigVersion>(`/v1/config/${segment(agentId)}`, { workspace: room.workspace.id });
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
              onClick={() =>
                open(`${paths.versions(room.workspace.id, agentId)}?from=${base}&to=${version}`, "_blank", "noopener")
              }
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
  display: { label: string; hint: string };
  setting: boolean | string;
  onSetting(setting: boolean | string): void;
}

function PolicyField({ param, display: { label, hint }, setting, onSetting }: PolicyFieldProps) {
  if (typeof setting === "boolean") return <Check label={label} hint={hint} checked={setting} onChecked={onSetting} />;
  return (
    <TextField
      label={label}
      hint={hint}
      value={setting}
      onValue={onSetting}
      param={param}
      attributes={{ inputMode: "numeric", pattern: "[0-9]*", class: "narrow", title: "A whole number" }}
    />
  );
}

function Fields({ draft, onDraft, save, disabled }: FieldsProps) {
  const change = (part: Partial<Draft>) => onDraft({ ...draft, ...part });
  const problem = isCode(save.problem, "version_conflict") ? null : save.problem;
  const draftError = save.problem?.code === "dashboard" ? save.problem.message : null;
  return (
    <FormProblem.Provider value={problem}>
      <fieldset class="card" disabled={disabled}>
        <legend>Policies</legend>
        <p class="faint small">The daemon enforces them on every write, whatever the agent is told.</p>
        {allPolicies().map(([name, { display }]) => (
          <PolicyField
            key={name}
            param={`policies.${name}`}
            display={display}
            setting={draft.policies[name] as boolean | string}
            onSetting={(setting) => change({ policies: { ...draft.policies, [name]: setting } })}
          />
        ))}
      </fieldset>
      <fieldset class="card" disabled={disabled}>
        <legend>For the agent</legend>
        <p class="faint small">Stored and versioned as given. The agent reads it; the daemon enforces none of it.</p>
        <TextField
          label="Model"
          value={draft.model}
          onValue={(model) => change({ model })}
          param="model"
          attributes={{ spellcheck: false }}
        />
        <TextArea
          label="Instructions"
          rows={6}
          value={draft.instructions}
          onValue={(instructions) => change({ instructions })}
          param="instructions"
        />
        <TextArea
          label="Everything else (JSON)"
          hint="An object with any other members that the agent uses."
          code
          rows={Math.min(16, Math.max(4, draft.rest.split("\n").length + 1))}
          value={draft.rest}
          onValue={(rest) => change({ rest })}
          error={draftError}
        />
      </fieldset>
    </FormProblem.Provider>
  );
}
