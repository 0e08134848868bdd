/** The configuration: policies as a form, the rest as it is; saved as a new version. */
import { useState } from "preact/hooks";
import { isCode, segment } from "../../api/client.ts";
import type { ConfigVersion } from "../../api/types.ts";
import { useEvents } from "../../state/events.ts";
import { type Action, type Loaded, useAction, useLoad } from "../../state/load.ts";
import { say } from "../../state/notices.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Actor } from "../../ui/actor.tsx";
import { Check, TextArea, TextField } from "../../ui/field.tsx";
import { Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { type Draft, draftOf, toConfig } from "./config-draft.ts";

interface Props {
  room: Room;
  agentId: string;
}

/** The configuration in force, null when there is none yet. */
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
        // What somebody is typing is kept when another version comes.
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
  /** The version that the draft began with; what is saved must follow it. */
  const [base, setBase] = useState(current);
  const [draft, setDraft] = useState<Draft>(() => draftOf(current?.config ?? {}));
  const [newer, setNewer] = useState<string | null>(null);
  useEvents((event) => {
    if (event.agent_id !== agentId || event.result !== "ok") return;
    if (!/^config\.(update|rollback)$|^checkpoint\.restore$/.test(event.operation)) return;
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
    say(`Saved as ${saved.version}. Its policies apply to every write from now on.`);
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
          <button type="button" class="button" onClick={() => takeTheirs.run()}>
            Show {newer}
          </button>
        </div>
      )}
      <Fields draft={draft} onDraft={setDraft} save={save} disabled={!room.canWrite} />
      {conflict ? (
        <Conflict
          room={room}
          agentId={agentId}
          save={save}
          takeTheirs={takeTheirs}
          base={base?.version ?? null}
        />
      ) : (
        <Problem problem={save.problem} />
      )}
      <Problem problem={takeTheirs.problem} />
      {room.canWrite ? (
        <div class={changed ? "row form-foot form-foot-changed" : "row form-foot"}>
          <button
            type="submit"
            class="button button-primary"
            disabled={save.busy || (!changed && base !== null)}
          >
            Save as a new version
          </button>
          {changed && base !== null && (
            <button type="button" class="button" onClick={() => start(base)}>
              Discard changes
            </button>
          )}
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

/** Somebody was faster: 412. Nothing is lost; the user decides. */
function Conflict({ room, agentId, save, takeTheirs, base }: ConflictProps) {
  const theirs = useLoad<ConfigVersion>(`conflict ${base}`, (signal) =>
    room.api.ask<ConfigVersion>(`/v1/config/${segment(agentId)}`, { signal }),
  );
  const version = theirs.data?.version ?? "a newer version";
  return (
    <Problem problem={save.problem}>
      <p>
        {theirs.data === undefined ? (
          "Somebody saved a newer version in the meantime."
        ) : (
          <>
            <Actor id={theirs.data.created_by} /> saved <strong>{version}</strong>{" "}
            <Time at={theirs.data.created_at} />.
          </>
        )}{" "}
        What you typed is still here.
      </p>
      {theirs.data !== undefined && (
        <>
          {base !== null && (
            <button
              type="button"
              class="button"
              onClick={() =>
                open(
                  `${paths.versions(room.workspace.id, agentId)}?from=${base}&to=${version}`,
                  "_blank",
                  "noopener",
                )
              }
            >
              See what changed
            </button>
          )}
          <button type="button" class="button" onClick={() => takeTheirs.run()}>
            Take {version}, drop mine
          </button>
          <button type="button" class="button button-danger" onClick={() => save.run(version)}>
            Save mine over {version}
          </button>
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

function Fields({ draft, onDraft, save, disabled }: FieldsProps) {
  const change = (part: Partial<Draft>) => onDraft({ ...draft, ...part });
  const problem = isCode(save.problem, "version_conflict") ? null : save.problem;
  const draftError = save.problem?.code === "dashboard" ? save.problem.message : null;
  return (
    <>
      <fieldset class="card" disabled={disabled}>
        <legend>Policies</legend>
        <p class="faint small">Enforced by the daemon on every write, whatever the agent is told.</p>
        <Check
          label="Block personal data"
          hint="Email and postal addresses, numbers of phones, cards, accounts and identity papers, and the like. A refused write changes nothing."
          checked={draft.blockPii}
          onChecked={(blockPii) => change({ blockPii })}
        />
        <Check
          label="Block secrets"
          hint="Keys, tokens, passwords, private keys."
          checked={draft.blockSecrets}
          onChecked={(blockSecrets) => change({ blockSecrets })}
        />
        <TextField
          label="Keep data for (days)"
          hint="Entries not written for so many days are gone. Empty: kept until deleted."
          value={draft.retentionDays}
          onValue={(retentionDays) => change({ retentionDays })}
          problem={problem}
          param="policies.retention_days"
          attributes={{
            inputMode: "numeric",
            pattern: "[0-9]*",
            class: "narrow",
            title: "A whole number of days",
          }}
        />
      </fieldset>
      <fieldset class="card" disabled={disabled}>
        <legend>For the agent</legend>
        <p class="faint small">
          Stored and versioned as given; the agent reads it, the daemon enforces nothing of it.
        </p>
        <TextField
          label="Model"
          value={draft.model}
          onValue={(model) => change({ model })}
          problem={problem}
          param="model"
          attributes={{ spellcheck: false }}
        />
        <TextArea
          label="Instructions"
          rows={6}
          value={draft.instructions}
          onValue={(instructions) => change({ instructions })}
          problem={problem}
          param="instructions"
        />
        <TextArea
          label="Everything else (JSON)"
          hint="An object with whatever further members the agent uses."
          code
          rows={Math.min(16, Math.max(4, draft.rest.split("\n").length + 1))}
          value={draft.rest}
          onValue={(rest) => change({ rest })}
          error={draftError}
        />
      </fieldset>
    </>
  );
}
