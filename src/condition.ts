/**
 * Preconditions on the version of a resource, which must hold for an operation to be carried out (RFC 9110 section
 * 13.1). A resource that does not exist, because it expired, was deleted or never existed, has no version.
 */

/** The resource exists or does not exist, or its version is one of these. */
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
