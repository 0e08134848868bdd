/** What `governd check` finds. */

/** `problem`: it does not work, or will not after an upgrade. `warning`: it will not for long. */
export type Severity = "ok" | "warning" | "problem";

/** The names of the checks; stable, since scripts read them. */
export type CheckName =
  | "daemon"
  | "permissions"
  | "seal_key"
  | "certificate"
  | "disk"
  | "database"
  | "upgrade"
  | "leftovers"
  | "backups";

export interface Finding {
  check: CheckName;
  severity: Severity;
  message: string;
  path?: string;
}

/** The worst of findings. */
export function worst(findings: readonly Finding[]): Severity {
  for (const severity of ["problem", "warning"] as const) {
    if (findings.some((finding) => finding.severity === severity)) return severity;
  }
  return "ok";
}

export const count = (number: number, noun: string): string =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
