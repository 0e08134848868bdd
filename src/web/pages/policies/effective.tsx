/** The policies in force for an agent: each part, and whether the workspace or the agent's configuration demands it. */
import type { ComponentChildren } from "preact";
import { segment } from "../../api/client.ts";
import type { EffectivePolicies, JsonObject, WorkspacePolicies } from "../../api/types.ts";
import { changesConfig, useAsk, useEvents } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Badge, MODE_TONES } from "../../ui/inline.tsx";
import { Empty, Show, Table } from "../../ui/parts.tsx";
import { partInForce } from "./in-force.ts";
import { policiesInForceAfter } from "./policies.tsx";

interface Props {
  agentId: string;
}

export function EffectiveTab({ agentId }: Props) {
  const { id } = useAccess();
  const effective = useAsk<EffectivePolicies>(`/v1/config/${segment(agentId)}/effective`);
  useEvents((event) => {
    if (changesConfig(agentId, event) || policiesInForceAfter(event) !== null) effective.reload();
  }, effective.reload);
  return (
    <Show of={effective}>
      {({ config_version, policies_version, policies, from }) => (
        <div class="stack">
          <p class="faint">
            {config_version === null ? (
              "The agent has no configuration"
            ) : (
              <>
                <a href={paths.agent(id, agentId)}>{config_version}</a> of the configuration
              </>
            )}
            {" and "}
            {policies_version === null ? (
              "the workspace has no policies."
            ) : (
              <>
                <a href={paths.policies(id)}>{policies_version}</a> of the workspace's policies. Of each part, the
                stricter one is in force.
              </>
            )}
          </p>
          {config_version === null && <ConfigDemanded key={policies_version} />}
          <Parts policies={policies as JsonObject} from={from} />
        </div>
      )}
    </Show>
  );
}

/** Says that an agent without a configuration may not write, where the workspace demands one. */
function ConfigDemanded() {
  const workspace = useAsk<WorkspacePolicies>("/v1/policies");
  if (workspace.data?.require_config !== true) return null;
  return (
    <p class="callout tone-warn">
      <strong>The workspace requires a configuration.</strong> Writes of this agent are refused until it has one.
    </p>
  );
}

function Parts({ policies, from }: { policies: JsonObject; from: EffectivePolicies["from"] }) {
  const paths = Object.entries(from);
  if (paths.length === 0) {
    return (
      <Empty title="No policy is in force">
        <p>Every write is allowed and recorded. Set policies for this agent, or for the whole workspace.</p>
      </Empty>
    );
  }
  return (
    <Table head={["Part", "In force", "Demanded by"]}>
      {paths.map(([path, origin]) => {
        const { name, note, setting } = partInForce(policies, path);
        return (
          <tr key={path}>
            <th scope="row">
              {name}
              {note !== null && <span class="faint small part-note">{note}</span>}
            </th>
            <td data-label="In force">
              <Setting {...setting} />
            </td>
            <td data-label="Demanded by">
              <Badge tone={origin === "floor" ? "accent" : "plain"}>
                {origin === "floor" ? "workspace" : "configuration"}
              </Badge>
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function Setting(setting: ReturnType<typeof partInForce>["setting"]): ComponentChildren {
  return "mode" in setting ? <Badge tone={MODE_TONES[setting.mode]}>{setting.mode}</Badge> : setting.text;
}
