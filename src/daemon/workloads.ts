/** The issuers of workloads that the settings name. */
import type { ControlDatabase } from "../control/database.ts";
import { Workloads } from "../control/workloads.ts";
import { isWorkspace } from "../control/workspaces.ts";
import { readText } from "../failure.ts";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/definitions.ts";
import type { Logger } from "./logger.ts";

interface WorkloadParts {
  settings: Settings;
  control: ControlDatabase;
  clock: Clock;
  logger: Pick<Logger, "warn">;
}

/** @throws {Failure} `invalid_settings` when the authorities of an issuer cannot be read */
export function workloadsOf({ settings, control, clock, logger }: WorkloadParts): Workloads {
  const readAuthorities = (file: string) => readText("invalid_settings", file, "ca_file");
  for (const { caFile, issuer, workspaceId } of settings.workload) {
    if (caFile !== null) readAuthorities(caFile);
    if (!isWorkspace(control.connection, workspaceId)) {
      logger.warn("a rule for workloads names a workspace that does not exist", { issuer, workspace_id: workspaceId });
    }
  }
  return new Workloads(
    {
      control,
      clock,
      monotonicMs: () => performance.now(),
      readAuthorities,
      onTrouble: (issuer, { reason }) =>
        logger.warn("the keys of an issuer of workloads cannot be fetched", { issuer, reason }),
    },
    settings.workload,
  );
}
