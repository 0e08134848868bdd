/** The roles that an issuer's groups give. */

/** The roles that a group can give, from the weakest to the strongest. */
export const ISSUED_ROLES = ["auditor", "member", "owner"] as const;

export type IssuedRole = (typeof ISSUED_ROLES)[number];

/** A role that a group gives. */
export interface GroupRole {
  group: string;
  role: IssuedRole;
  /** Null for all workspaces. */
  workspaceId: string | null;
}

/** Who may sign in by the issuer, and as what. */
export interface RoleRules {
  roleMap: readonly GroupRole[];
  /** The group whose members may sign in; null for everybody who has a role. */
  requireGroup: string | null;
  /** The role in all workspaces of people without a role from a group; null when they cannot sign in. */
  defaultRole: IssuedRole | null;
}

/** The roles of a person: in all workspaces, and in single ones. */
export interface IssuedRoles {
  everywhere: IssuedRole | null;
  byWorkspace: ReadonlyMap<string, IssuedRole>;
}

/** Reports whether it depends on groups who may sign in, and as what. */
export const dependsOnGroups = ({ roleMap, requireGroup }: RoleRules): boolean =>
  roleMap.length > 0 || requireGroup !== null;

/** Returns the roles of a person with these groups; null when the person may not sign in. */
export function issuedRoles(rules: RoleRules, groups: readonly string[]): IssuedRoles | null {
  if (rules.requireGroup !== null && !groups.includes(rules.requireGroup)) return null;
  const given = rules.roleMap.filter(({ group }) => groups.includes(group));
  if (given.length === 0) {
    return rules.defaultRole === null ? null : { everywhere: rules.defaultRole, byWorkspace: new Map() };
  }
  let everywhere: IssuedRole | null = null;
  const byWorkspace = new Map<string, IssuedRole>();
  for (const { role, workspaceId } of given) {
    if (workspaceId === null) everywhere = stronger(everywhere, role);
    else byWorkspace.set(workspaceId, stronger(byWorkspace.get(workspaceId) ?? null, role));
  }
  return { everywhere, byWorkspace };
}

/** Returns the strongest role in one workspace; null for none. */
export function roleIn({ everywhere, byWorkspace }: IssuedRoles, workspaceId: string): IssuedRole | null {
  const own = byWorkspace.get(workspaceId);
  return own === undefined ? everywhere : stronger(everywhere, own);
}

const stronger = (one: IssuedRole | null, other: IssuedRole): IssuedRole =>
  one !== null && ISSUED_ROLES.indexOf(one) > ISSUED_ROLES.indexOf(other) ? one : other;
