/** The files that proofs are saved in: their names, and how much a seal covers. */

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

/** Returns the name of a proof of what an agent had stored, made at a time. */
export const proofFile = (agentId: string, at: Date): string =>
  `proof-${plain(agentId)}-${at.toISOString().replaceAll(/[-:]|\.\d+/g, "")}.json`;

const plain = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/g, "_");

/** Returns the name that the daemon gives an export that is made at a time; `agentId` is null for the whole workspace. */
export function exportFile(
  workspaceId: string,
  agentId: string | null,
  format: keyof typeof EXTENSIONS,
  at: Date,
): string {
  return `audit-${plain(agentId ?? workspaceId)}-${at.toISOString().slice(0, 10)}.${EXTENSIONS[format]}`;
}
