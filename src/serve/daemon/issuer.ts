/** The issuers in the settings: the one of people, and those of workloads. */

import { systemPrincipal } from "../../core/writer/contract.ts";
import { Failure, messageOf, readText } from "../../failure.ts";
import { type Clock, systemClock } from "../../ids.ts";
import type { RoleRules } from "../../oidc/group-roles.ts";
import { Issuer, type IssuerOptions, type WaitingFlow } from "../../oidc/issuer.ts";
import { type IssuerTrouble, isIssuerTrouble } from "../../oidc/refused.ts";
import type { Workspaces } from "../../ops/accounts/parts.ts";
import type { AccountDeps } from "../../ops/accounts/routes/contract.ts";
import type { Waiting } from "../../ops/accounts/waiting.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import { Workloads } from "../../ops/directory/workloads.ts";
import { isWorkspace } from "../../ops/directory/workspaces.ts";
import type { Settings } from "../../settings/definitions.ts";
import type { Logger } from "./logger.ts";

/**
 * Returns the dependencies of signing in by the issuer; null without an issuer. `flows` outlive the settings, so that a
 * sign-in that began before they changed can still be finished.
 * @throws {Failure} `invalid_settings` when a file of the settings cannot be used
 */
export function signInIssuer(
  { settings, clock, logger }: { settings: Settings; clock: Clock; logger: Pick<Logger, "warn"> },
  flows: Waiting<WaitingFlow>,
): AccountDeps["oidc"] {
  const told = (message: string, { why: cause, reason }: IssuerTrouble) =>
    logger.warn(message, { issuer: settings.oidc_issuer, cause, reason });
  const onUserInfoTrouble = (error: IssuerTrouble) => told("the issuer does not answer about a person", error);
  const named = issuerOf(settings, { clock, onUserInfoTrouble });
  if (named === null) return null;
  const onTrouble = (of: "sign-in" | "logout", error: IssuerTrouble) =>
    told(of === "logout" ? "a logout by the issuer was refused" : "a sign-in by the issuer did not succeed", error);
  // An operator learns at the start what people would meet.
  void named.issuer.check().catch((error) => told("people cannot sign in by the issuer", error));
  const onRolesLeft = (error: unknown) =>
    logger.warn("some roles of the issuer's groups are given at the next sign-in only", { reason: messageOf(error) });
  return { ...named, flows, onTrouble, onRolesLeft };
}

/**
 * Asks the issuer for its metadata. Returns why people cannot sign in by it; null when they can, or there is none.
 * @throws {Failure} `invalid_settings` when a file of the settings cannot be used
 */
export async function troubleWithIssuer(settings: Settings): Promise<IssuerTrouble | null> {
  const named = issuerOf(settings, { clock: systemClock, onUserInfoTrouble() {} });
  try {
    await named?.issuer.check();
    return null;
  } catch (error) {
    if (isIssuerTrouble(error)) return error;
    throw error;
  }
}

function issuerOf(
  settings: Settings,
  surroundings: Pick<IssuerOptions, "clock" | "onUserInfoTrouble">,
): { issuer: Issuer; rules: RoleRules } | null {
  const { oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret_file: file, oidc_ca_file: ca } = settings;
  if (issuer === null || clientId === null) return null;
  return {
    issuer: new Issuer({
      issuer,
      clientId,
      clientSecret: file === null ? null : readSecret(file),
      ca: ca === null ? null : readText("invalid_settings", ca, "oidc_ca_file"),
      scopes: settings.oidc_scopes,
      groupsClaim: settings.oidc_groups_claim,
      ...surroundings,
    }),
    rules: {
      roleMap: settings.oidc_role_map,
      requireGroup: settings.oidc_require_group,
      defaultRole: settings.oidc_default_role === "none" ? null : settings.oidc_default_role,
    },
  };
}

function readSecret(file: string): string {
  const secret = readText("invalid_settings", file, "oidc_client_secret_file").trim();
  if (secret === "") throw new Failure("invalid_settings", `oidc_client_secret_file ${file} is empty.`);
  return secret;
}

interface WorkloadParts {
  settings: Settings;
  installation: Installation;
  clock: Clock;
  logger: Pick<Logger, "warn">;
  workspaces: Workspaces;
}

/**
 * Returns the verifier of workloads' tokens.
 * @throws {Failure} `invalid_settings` when the authorities of an issuer cannot be read
 */
export function workloadsOf({ settings, installation, clock, logger, workspaces }: WorkloadParts): Workloads {
  const readAuthorities = (file: string) => readText("invalid_settings", file, "ca_file");
  for (const { caFile, issuer, workspaceId } of settings.workload) {
    if (caFile !== null) readAuthorities(caFile);
    if (!isWorkspace(installation.connection, workspaceId)) {
      logger.warn("a rule for workloads names a workspace that does not exist", { issuer, workspace_id: workspaceId });
    }
  }
  return new Workloads(
    {
      installation,
      clock,
      monotonicMs: () => performance.now(),
      readAuthorities,
      async idOf(workspaceId, { issuer, subject }) {
        // A full disk or quota would refuse the second operation, also to a workload that is known.
        const known = await workspaces.ask(workspaceId, "workload.find", { issuer, subject });
        if (known !== null) return known;
        const principal = systemPrincipal(workspaceId);
        const { body } = await workspaces.change(principal, "workload.begin", { issuer, subject });
        return String(body.id);
      },
      onTrouble: (issuer, { reason }) =>
        logger.warn("the keys of an issuer of workloads cannot be fetched", { issuer, reason }),
    },
    settings.workload,
  );
}
