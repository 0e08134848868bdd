/**
 * Which workspaces an account belongs to. A membership is read in the workspace's file, and cached until the
 * members of the workspace change. The workspace's thread reads it again in the transaction of each
 * operation that it authorises, so the cache may be late, and only for what is not recorded.
 */
import { meetsRequirement } from "../../core/rows/access/accounts.ts";
import { authorisedBy, type StoredSession } from "../../core/rows/access/sessions.ts";
import type { Principal } from "../../core/writer/contract.ts";
import type { Role, Scope } from "../../operation-facts.ts";
import { Problem, secondFactorMissing } from "../../problem.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import { listDirectory } from "../directory/directory.ts";
import type { Installation } from "../directory/installation.ts";
import { type KeeperOptions, RecordCache } from "../directory/record-cache.ts";
import { findWorkspace, INSTALLATION_CREATOR } from "../directory/workspaces.ts";
import type { FoundMember } from "../members/shown.ts";

/** The most memberships to cache. */
const MAX_KNOWN = 100_000;
/** How many workspaces are asked at once for a list. */
const ASKED_AT_ONCE = 16;

/** An account's membership of a workspace. */
export interface Membership {
  accountId: string;
  /** The workspace. */
  id: string;
  name: string;
  role: Role;
  /** The issuer whose groups gave the role; null when a person or the operator did. */
  issuer: string | null;
  createdAt: number;
  joinedAt: number;
  /** Whether its members need a second factor. */
  requiresSecondFactor: boolean;
  hasSecondFactor: boolean;
  /** Whether the member cannot use it for lack of a second factor. */
  locked: boolean;
  /** Whether it is the log of the installation, whose members are operators. */
  isInstallation: boolean;
}

/** Returns the scope of an API key that has the same rights on `/v1` as a role. */
const scopeOfRole = (role: Role): Scope => (role === "auditor" ? "auditor" : "full");

/** Returns the principal of what a member does by routes of `/account`. */
export const principalOf = (
  { accountId, id, role, hasSecondFactor }: Membership,
  session: StoredSession,
): Principal => ({
  ...{ actor: accountId, workspaceId: id, scope: scopeOfRole(role), agents: null, role },
  ...(hasSecondFactor && { hasSecondFactor }),
  authorisedBy: authorisedBy(session),
});

/** As {@link principalOf}, for the routes of `/v1`, where a person's views are recorded. */
export const principalInSession = (membership: Membership, session: StoredSession): Principal => ({
  ...principalOf(membership, session),
  person: true,
  ...(membership.isInstallation && { installation: true }),
});

interface MembershipsOptions extends KeeperOptions {
  /** Finds an account among the members of a workspace. @throws {Problem} when the workspace cannot be read */
  find(workspaceId: string, accountId: string): Promise<FoundMember>;
}

export class Memberships extends RecordCache<Membership> {
  constructor(
    installation: Installation,
    private readonly options: MembershipsOptions,
  ) {
    super(installation, { most: MAX_KNOWN, ofInstallation: true, writeUses() {}, onError: options.onError });
  }

  /** Returns the membership of an account, which may be locked; null when it is no member, or there is no such workspace. */
  find(accountId: string, workspaceId: string): MaybePromise<Membership | null> {
    return this.get(nameOf(accountId, workspaceId)) ?? this.#lookUp(accountId, workspaceId);
  }

  /**
   * Returns the memberships of an account in the order of joining, without that in the log of the installation. A workspace
   * that cannot be read is left out.
   */
  async list(accountId: string): Promise<Membership[]> {
    return (await this.listReadable(accountId)).memberships;
  }

  /** As {@link list}, with the workspaces that cannot be read, which the account may belong to, and why. */
  async listReadable(accountId: string): Promise<{ memberships: Membership[]; unread: Map<string, Problem> }> {
    const ids = listDirectory(this.installation.connection, accountId);
    const memberships: Membership[] = [];
    const unread = new Map<string, Problem>();
    for (let at = 0; at < ids.length; at += ASKED_AT_ONCE) {
      const some = ids.slice(at, at + ASKED_AT_ONCE).map(async (id) => {
        const found = await this.#findReadable(accountId, id);
        if (found instanceof Problem) unread.set(id, found);
        else if (found !== null) memberships.push(found);
      });
      await Promise.all(some);
    }
    return { memberships: memberships.sort((a, b) => a.joinedAt - b.joinedAt || (a.id < b.id ? -1 : 1)), unread };
  }

  /** As {@link find}. Returns the problem when the workspace cannot be read. */
  async #findReadable(accountId: string, id: string): Promise<Membership | Problem | null> {
    try {
      return await this.find(accountId, id);
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  /**
   * Returns the membership of an operator in the log of the installation; null for any other account.
   * @throws {Problem} when the log cannot be read
   */
  async findOperator(accountId: string): Promise<Membership | null> {
    return await this.find(accountId, this.installation.id);
  }

  /** Reports whether an account owns a workspace. @throws {Problem} when one that it may own cannot be read */
  async ownsAny(accountId: string): Promise<boolean> {
    const { memberships, unread } = await this.listReadable(accountId);
    if (memberships.some(({ role }) => role === "owner")) return true;
    const [problem] = unread.values();
    if (problem !== undefined) throw problem;
    return false;
  }

  /** Forgets the members of a workspace, which may have changed. */
  forget(workspaceId: string): void {
    this.forgetThose(({ id }) => id === workspaceId);
  }

  async #lookUp(accountId: string, id: string): Promise<Membership | null> {
    const { connection } = this.installation;
    const workspace = findWorkspace(connection, id);
    if (workspace === undefined) return null;
    const { changes } = this;
    const hasSecondFactor = await meetsRequirement(connection, accountId);
    const { member, requiresSecondFactor } = await this.options.find(id, accountId);
    if (member === null) return null;
    const { role, issuer, joinedAt } = member;
    const { name, createdAt, createdBy } = workspace;
    const membership: Membership = {
      ...{ accountId, id, name, role, issuer, createdAt, joinedAt, requiresSecondFactor, hasSecondFactor },
      locked: requiresSecondFactor && !hasSecondFactor,
      isInstallation: createdBy === INSTALLATION_CREATOR,
    };
    // What was read before a change is used once, and not kept.
    return changes === this.changes ? this.keep(nameOf(accountId, id), membership) : membership;
  }
}

const nameOf = (accountId: string, workspaceId: string): string => `${accountId} ${workspaceId}`;

/** Returns the membership of an account in a workspace, which may be locked. @throws {Problem} `workspace_not_found` */
export async function findMembership(memberships: Memberships, accountId: string, workspaceId: string) {
  const found = await memberships.find(accountId, workspaceId);
  if (found === null || found.isInstallation) {
    throw new Problem(
      "workspace_not_found",
      "You are not a member of such a workspace. GET /account/workspaces lists your workspaces.",
    );
  }
  return found;
}

/**
 * Returns the membership of an account in a workspace that it can use.
 * @throws {Problem} `workspace_not_found`, `second_factor_missing`
 */
export async function requireMembership(memberships: Memberships, accountId: string, workspaceId: string) {
  const found = await findMembership(memberships, accountId, workspaceId);
  if (found.locked) throw secondFactorMissing();
  return found;
}

/**
 * Like {@link requireMembership}, for owners only.
 * @throws {Problem} `workspace_not_found`, `second_factor_missing`, `forbidden`
 */
export async function requireOwner(memberships: Memberships, accountId: string, workspaceId: string) {
  const membership = await requireMembership(memberships, accountId, workspaceId);
  if (membership.role === "owner") return membership;
  throw new Problem("forbidden", "Only an owner of the workspace may do this. Ask an owner.");
}
