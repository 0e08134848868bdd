/**
 * Commands of the operator about accounts: one-time links, and operators, the accounts that may read the log of the
 * installation. Operators are members of that log, with the role `auditor`. Only the command line appoints them, and
 * the log records it like the members of a workspace.
 */
import { showTime } from "../../ids.ts";
import type { Connection } from "../../store/connection.ts";
import { type ActParts, act, INSTALLATION } from "../directory/acts.ts";
import { findInstallation } from "../directory/workspaces.ts";
import { draftLink, type LinkRequest, type NewLink } from "./links.ts";
import { findMember, type Membership } from "./members.ts";

/** Returns the membership of an operator in the log of the installation; null for any other account. */
export function findOperator(connection: Connection, accountId: string): Membership | null {
  const log = findInstallation(connection);
  const member = log && findMember(connection, log.id, accountId);
  return log && member ? { ...log, role: "auditor", requiresSecondFactor: false, locked: false } : null;
}

/** Makes an account an operator, or ends that. Records nothing when nothing changes. @throws {Failure} `busy` */
export function setOperator(parts: ActParts, accountId: string, isOperator: boolean, actor: string) {
  const { control, clock } = parts;
  return act(parts, INSTALLATION, (workspaceId) => {
    const wasOperator = findOperator(control.connection, accountId) !== null;
    if (wasOperator === isOperator) return { event: null };
    const details = { account_id: accountId, role: "auditor" };
    if (wasOperator) {
      return {
        event: { operation: "member.remove", actor, details },
        changes: [["removeMember", { workspaceId, accountId }]],
      };
    }
    const at = clock();
    return {
      event: { operation: "member.join", actor, details: { ...details, joined_at: showTime(at) } },
      changes: [["addMember", { workspaceId, accountId, role: "auditor", joinedAt: at }]],
    };
  });
}

/** Creates a link for the operator. The log of the installation records it. @throws {Failure} `busy` */
export function linkFor(parts: ActParts, decide: (connection: Connection) => LinkRequest): Promise<NewLink> {
  return act(parts, INSTALLATION, () => {
    const request = decide(parts.control.connection);
    const { digest, ...made } = draftLink(parts.ids, parts.clock(), request);
    const { id, kind, workspaceId, role, accountId, dropsTotp, createdBy, expiresAt } = made.link;
    return {
      event: {
        operation: "account.link",
        actor: createdBy,
        details: {
          link_id: id,
          kind,
          account_id: accountId,
          second_factor_ends: dropsTotp,
          invited_workspace_id: workspaceId,
          role,
          expires_at: showTime(expiresAt),
        },
      },
      changes: [["addLink", { ...made.link, digest }]],
      result: made,
    };
  });
}
