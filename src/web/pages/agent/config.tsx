/** The configuration as a form. Saving makes a new version. */
import { orNull, segment, type WorkspaceApi } from "../../api/client.ts";
import type { ConfigVersion } from "../../api/types.ts";
import { changesConfig, type Loaded, useLoad } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { type Editable, useEditor } from "../../state/versioned.ts";
import { TextArea, TextField } from "../../ui/field.tsx";
import { Show } from "../../ui/parts.tsx";
import { toPolicies } from "../policies/draft.ts";
import { PolicyFields } from "../policies/fields.tsx";
import { PolicyTools } from "../policies/tools.tsx";
import { VersionedForm } from "../policies/versioned-form.tsx";
import { type Draft, draftOf, toConfig } from "./config-draft.ts";

/** Loads the configuration in force, null when there is none yet. */
export function useConfig(agentId: string): Loaded<ConfigVersion | null> {
  const { id, api } = useAccess();
  return useLoad<ConfigVersion | null>(`${id} ${agentId}`, (signal) => configInForce(api, agentId, signal));
}

const configInForce = (api: WorkspaceApi, agentId: string, signal: AbortSignal): Promise<ConfigVersion | null> =>
  orNull("config_not_found", api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`, { signal }));

/** The start of the form: a version, or none. */
type Start = Pick<ConfigVersion, "config" | "rolled_back_from"> & {
  [Member in "version" | "created_at" | "created_by"]: ConfigVersion[Member] | null;
};

const NONE: Start = { version: null, config: {}, created_at: null, created_by: null, rolled_back_from: null };

const configOf = (agentId: string): Editable<Start, Draft> => ({
  path: `/v1/config/${segment(agentId)}`,
  draftOf: ({ config }) => draftOf(config),
  bodyOf: toConfig,
  contentOf: ({ config }) => config,
  inForceAfter(event) {
    const version = event.details?.version ?? event.details?.config_version;
    return changesConfig(agentId, event) && typeof version === "string" ? version : null;
  },
});

export function ConfigTab({ agentId }: { agentId: string }) {
  const config = useConfig(agentId);
  return (
    // What the user is typing stays when a newer version arrives.
    <Show of={config}>
      {(current) => (
        <ConfigEditor
          key={agentId}
          {...{ agentId, current }}
          onSaved={(saved) => config.set(() => saved as ConfigVersion)}
        />
      )}
    </Show>
  );
}

interface EditorProps {
  agentId: string;
  current: ConfigVersion | null;
  onSaved(saved: Start): void;
}

function ConfigEditor({ agentId, current, onSaved }: EditorProps) {
  const { canWrite } = useAccess();
  const editor = useEditor(configOf(agentId), current ?? NONE, onSaved);
  const { draft, setDraft, changed } = editor;
  return (
    <div class="workbench">
      <VersionedForm
        of={editor}
        none="No configuration yet: only the workspace's policies hold, and every write is recorded."
        mayEdit={canWrite}
        readOnly="As an auditor you read configurations; changing them needs a member."
      >
        <PolicyFields
          draft={draft.policies}
          onDraft={(policies) => setDraft({ ...draft, policies })}
          disabled={!canWrite}
        />
        <AgentFields draft={draft} onDraft={setDraft} disabled={!canWrite} />
      </VersionedForm>
      <PolicyTools edited={{ agentId, changed, policies: () => toPolicies(draft.policies) }} />
    </div>
  );
}

interface FieldsProps {
  draft: Draft;
  onDraft(draft: Draft): void;
  disabled: boolean;
}

function AgentFields({ draft, onDraft, disabled }: FieldsProps) {
  const field = (param: "model" | "instructions" | "rest") => ({
    param,
    value: draft[param],
    onValue: (value: string) => onDraft({ ...draft, [param]: value }),
  });
  return (
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
  );
}
