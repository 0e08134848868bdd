/**
 * Preconditions: what must hold of the version of a thing for an operation on it to be carried out (RFC 9110 section
 * 13.1). What does not exist, also because it expired or was deleted, has no version.
 */

/** That the thing exists or does not exist, or that its version is one of these. */
export type VersionCondition = { exists: boolean } | { versions: readonly string[] };

/** Returns the condition that a member `if_version` states: a version, or null for "must not exist". */
export const ifVersion = (version: string | null): VersionCondition =>
  version === null ? { exists: false } : { versions: [version] };

/** Reports whether a condition holds when `current` is the version, null for none. An absent condition always holds. */
export function holds(condition: VersionCondition | undefined, current: string | null): boolean {
  if (condition === undefined) return true;
  if ("exists" in condition) return condition.exists === (current !== null);
  return current !== null && condition.versions.includes(current);
}
