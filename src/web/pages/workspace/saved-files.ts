/** The files that the page Proof saves: their names, and how much a seal covers. */

/** Returns how many events a seal covers, from its text: C2SP tlog-checkpoint, https://c2sp.org/tlog-checkpoint. */
export const sealSize = (text: string): number => Number(text.split("\n")[1] ?? 0);

export const sealFile = (workspaceId: string, text: string): string => `${workspaceId}-${sealSize(text)}.seal`;

export const EXTENSIONS = {
  json: "json",
  ndjson: "ndjson",
  csv: "csv",
  cloudevents: "ndjson",
  ocsf: "ndjson",
} as const;

/** Returns the name that the daemon gives an export that is made at a time; `agentId` is null for the whole workspace. */
export function exportFile(
  workspaceId: string,
  agentId: string | null,
  format: keyof typeof EXTENSIONS,
  at: Date,
): string {
  const name = (agentId ?? workspaceId).replaceAll(/[^A-Za-z0-9._-]/g, "_");
  return `audit-${name}-${at.toISOString().slice(0, 10)}.${EXTENSIONS[format]}`;
}
