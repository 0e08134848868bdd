/**
 * What was lost after a position of a log: the rights that a copy from before it would give back. Derived from the events
 * alone, so a file of the workspace and an export of it say the same.
 */
import type { JsonObject } from "../json.ts";
import type { Role } from "../operation-facts.ts";

/** An event, as far as it matters here. */
export interface LaterEvent {
  operation: string;
  agent_id: string | null;
  result: string;
  details: JsonObject | null;
}

/** What the events after the copy took away, and did not give back. */
export class Losses {
  /** Keys that were revoked, or were rotated and so end: ids. */
  readonly keys = new Set<string>();
  /** The networks that keys were limited to. */
  readonly networks = new Map<string, readonly string[]>();
  readonly sinksRemoved = new Set<string>();
  readonly sinksOff = new Set<string>();
  /** Members, by account: the role that was left to them; null when they were removed. */
  readonly members = new Map<string, Role | null>();
  readonly suspended = new Set<string>();
  /** Whether members need a second factor since. */
  needsSecondFactor = false;
  /** Accounts that were erased. */
  readonly accounts = new Set<string>();
  /** Accounts whose password was changed. */
  readonly passwords = new Set<string>();
  /** Passkeys that were removed. */
  readonly passkeys = new Set<string>();
  /** Accounts whose passkeys were all removed. */
  readonly factors = new Set<string>();
  /** Identities that were unlinked: account and issuer. */
  readonly identities: { accountId: string; issuer: string }[] = [];
  /** Whether passwords were switched off. */
  issuerOnly = false;
  /** Workspaces that were deleted, with the details of the event that says so. */
  readonly deleted = new Map<string, JsonObject>();

  constructor(events: Iterable<LaterEvent>) {
    for (const event of events) {
      if (event.result === "ok") STATED[event.operation]?.(this, event.details ?? {}, event);
    }
  }
}

/** What the events of each operation say is lost, or is given back. */
const STATED: Readonly<Record<string, (losses: Losses, details: JsonObject, event: LaterEvent) => unknown>> = {
  "key.revoke": ({ keys }, { key_id }) => keys.add(String(key_id)),
  "key.rotate": ({ keys }, { replaces }) => keys.add(String(replaces)),
  "key.change": ({ networks: limits }, { key_id, networks }) =>
    networks === null ? limits.delete(String(key_id)) : limits.set(String(key_id), networks as string[]),
  "sink.remove": ({ sinksRemoved }, { sink_id }) => sinksRemoved.add(String(sink_id)),
  "sink.change": ({ sinksOff }, { sink_id, enabled }) =>
    typeof enabled === "boolean" && (enabled ? sinksOff.delete(String(sink_id)) : sinksOff.add(String(sink_id))),
  "member.join": withRole,
  "member.change": withRole,
  "member.remove": ({ members }, { account_id }) => members.set(String(account_id), null),
  "workspace.change": (losses, { second_factor_since }) => {
    losses.needsSecondFactor = second_factor_since !== null;
  },
  "agent.suspend": ({ suspended }, _, { agent_id }) => agent_id !== null && suspended.add(agent_id),
  "agent.resume": ({ suspended }, _, { agent_id }) => agent_id !== null && suspended.delete(agent_id),
  "account.erase": ({ accounts }, { account_id }) => accounts.add(String(account_id)),
  "account.change_password": ({ passwords }, { account_id }) => passwords.add(String(account_id)),
  "account.reset_password": ({ passwords, factors }, { account_id, second_factor_ended }) => {
    passwords.add(String(account_id));
    if (second_factor_ended === true) factors.add(String(account_id));
  },
  "account.remove_passkey": ({ passkeys }, { passkey_id }) => passkeys.add(String(passkey_id)),
  "account.unlink_identity": ({ identities }, { account_id, issuer }) =>
    identities.push({ accountId: String(account_id), issuer: String(issuer) }),
  "account.require_issuer": (losses, { only }) => {
    losses.issuerOnly = only === true;
  },
  "installation.delete_workspace": ({ deleted }, { for_workspace_id, size, head, seal }) =>
    deleted.set(String(for_workspace_id), { for_workspace_id, size, head, seal } as JsonObject),
};

function withRole({ members }: Losses, { account_id, role }: JsonObject): void {
  members.set(String(account_id), role as Role);
}
