/** The findings of `governd check`. */

/** `problem`: it does not work, or will not work after an upgrade. `warning`: it will stop working. */
type Severity = "ok" | "warning" | "problem";

/** The names of the checks. They are stable, since scripts read them. */
type CheckName =
  | "daemon"
  | "permissions"
  | "seal_key"
  | "second_factor"
  | "sinks"
  | "issuer"
  | "certificate"
  | "disk"
  | "descriptors"
  | "free_pages"
  | "database"
  | "upgrade"
  | "leftovers"
  | "backups";

export interface Finding {
  check: CheckName;
  severity: Severity;
  message: string;
  path: string | undefined;
}

export function finding(check: CheckName, severity: Severity, message: string, path?: string): Finding {
  return { check, severity, message, path };
}

/** Returns the worst severity of the findings. */
export function worst(findings: readonly Finding[]): Severity {
  const severities = new Set(findings.map(({ severity }) => severity));
  return severities.has("problem") ? "problem" : severities.has("warning") ? "warning" : "ok";
}
