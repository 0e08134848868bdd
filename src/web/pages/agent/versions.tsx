/** Every version of the configuration, a comparison of two, and the rollback to one. */
import { segment } from "../../api/client.ts";
import type { ConfigVersion, ConfigVersionItem } from "../../api/types.ts";
import { changesConfig } from "../../state/load.ts";
import { useAccess } from "../../state/session.ts";
import { say } from "../../ui/notices.tsx";
import { VersionList } from "../policies/version-list.tsx";

export function VersionsTab({ agentId }: { agentId: string }) {
  const { api } = useAccess();
  const config = `/v1/config/${segment(agentId)}`;
  return (
    <VersionList<ConfigVersionItem, ConfigVersion>
      path={`${config}/versions`}
      changes={(event) => changesConfig(agentId, event)}
      contentOf={(version) => version.config}
      empty="Save a configuration in the first tab; each save makes a version, which never changes."
      goBack={async ({ version: to }, current) => {
        const headers = { "if-match": `"${current}"` };
        const made = await api.ask<ConfigVersion>(`${config}/rollback`, { body: { version: to }, headers });
        say(`Version ${made.version}`, `is in force, with the content of ${to}.`);
      }}
    />
  );
}
