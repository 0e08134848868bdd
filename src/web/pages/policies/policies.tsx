/** The policies of the workspace, which apply to every agent: as a form, and their versions. */
import type { ComponentChildren, FunctionComponent } from "preact";
import type { AuditEvent, JsonObject, WorkspacePolicies, WorkspacePoliciesVersion } from "../../api/types.ts";
import { useAsk } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { type Editable, useEditor } from "../../state/versioned.ts";
import { Check } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { Heading, Show, Tabs } from "../../ui/parts.tsx";
import { draftOfPolicies, type PolicyDraft, toPolicies } from "./draft.ts";
import { PolicyFields } from "./fields.tsx";
import { FindingsTab } from "./findings.tsx";
import { PolicyTools } from "./tools.tsx";
import { VersionList } from "./version-list.tsx";
import { VersionedForm } from "./versioned-form.tsx";

/** The views: the end of the address, the name of the tab, and the content. */
export const POLICY_TABS: readonly (readonly [end: string, name: string, View: FunctionComponent])[] = [
  ["", "Policies", PoliciesTab],
  ["/findings", "Findings", FindingsTab],
  ["/versions", "Versions", VersionsTab],
];

export function PoliciesPage({ children }: { children: ComponentChildren }) {
  const { id } = useAccess();
  return (
    <>
      <Heading title="Policies">
        They hold for every agent of the workspace, with or without a configuration of its own. Of each part, the
        stricter one counts.
      </Heading>
      <Tabs label="Policies" tabs={POLICY_TABS.map(([end, name]) => [`${paths.policies(id)}${end}`, name])} />
      {children}
    </>
  );
}

const PATH = "/v1/policies";

interface Draft {
  policies: PolicyDraft;
  require_config: boolean;
  exceptions_from_agents: boolean;
}

type Content = Pick<WorkspacePolicies, "policies" | "require_config" | "exceptions_from_agents">;

const contentOf = ({ policies, require_config, exceptions_from_agents }: Content): JsonObject => ({
  policies: policies as JsonObject,
  require_config,
  exceptions_from_agents,
});

/** The version of the workspace's policies that an event put in force, null for other events. */
export function policiesInForceAfter({ operation, result, details }: AuditEvent): string | null {
  const version = operation === "policies.update" && result === "ok" ? details?.version : null;
  return typeof version === "string" ? version : null;
}

const WORKSPACE_POLICIES: Editable<WorkspacePolicies, Draft> = {
  path: PATH,
  draftOf: ({ policies, ...flags }) => ({
    policies: draftOfPolicies(policies as JsonObject),
    require_config: flags.require_config,
    exceptions_from_agents: flags.exceptions_from_agents,
  }),
  bodyOf: ({ policies, ...flags }) => ({ policies: toPolicies(policies), ...flags }),
  contentOf,
  inForceAfter: policiesInForceAfter,
};

function PoliciesTab() {
  const policies = useAsk<WorkspacePolicies>(PATH);
  return (
    // What the user is typing stays when a newer version arrives.
    <Show of={policies}>
      {(current) => <PoliciesEditor current={current} onSaved={(saved) => policies.set(() => saved)} />}
    </Show>
  );
}

interface EditorProps {
  current: WorkspacePolicies;
  onSaved(saved: WorkspacePolicies): void;
}

function PoliciesEditor({ current, onSaved }: EditorProps) {
  const { canWrite } = useAccess();
  const editor = useEditor(WORKSPACE_POLICIES, current, onSaved);
  const { draft, setDraft, changed } = editor;
  const flag = (name: "require_config" | "exceptions_from_agents") => ({
    checked: draft[name],
    onChecked: (checked: boolean) => setDraft({ ...draft, [name]: checked }),
  });
  return (
    <div class="workbench">
      <VersionedForm
        of={editor}
        none="No policies yet: only those of each agent's configuration hold."
        mayEdit={canWrite}
        readOnly="As an auditor you read policies; changing them needs a member."
      >
        <PolicyFields
          draft={draft.policies}
          onDraft={(policies) => setDraft({ ...draft, policies })}
          disabled={!canWrite}
        >
          <fieldset class="card" disabled={!canWrite}>
            <legend>Agents</legend>
            <Check
              label="Require a configuration"
              hint="Writes by agents without one are refused."
              {...flag("require_config")}
            />
            <Check
              label="Let agents make exceptions"
              hint="Exceptions in an agent's configuration also hold for what is demanded here."
              {...flag("exceptions_from_agents")}
            />
          </fieldset>
        </PolicyFields>
      </VersionedForm>
      <PolicyTools edited={{ agentId: null, changed, policies: () => toPolicies(draft.policies) }} />
    </div>
  );
}

function VersionsTab() {
  const { api } = useAccess();
  return (
    <VersionList<WorkspacePoliciesVersion, WorkspacePoliciesVersion>
      path={`${PATH}/versions`}
      changes={(event) => policiesInForceAfter(event) !== null}
      contentOf={contentOf}
      empty="Save policies in the first tab; each save makes a version, which never changes."
      goBack={async (to, current) => {
        const version = await api.ask<WorkspacePoliciesVersion>(`${PATH}/versions/${to.version}`);
        const saved = await api.ask<WorkspacePolicies>(PATH, {
          method: "PUT",
          body: contentOf(version),
          headers: { "if-match": `"${current}"` },
        });
        say(`Version ${saved.version}`, `is in force, with the content of ${to.version}.`);
      }}
    />
  );
}
