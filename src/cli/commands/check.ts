/** `governd check`: what an operator runs before an upgrade. It changes nothing, to the byte. */
import type { Command } from "commander";
import { EXIT } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { loadSettings } from "../../settings/load.ts";
import { VERSION } from "../../version.ts";
import { directoryOf } from "../administer.ts";
import { checkDatabases } from "../check/databases.ts";
import { type Finding, worst } from "../check/findings.ts";
import {
  checkBackups,
  checkCertificates,
  checkDaemon,
  checkDisk,
  checkLeftovers,
  checkPermissions,
  checkSealKey,
} from "../check/surroundings.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";
import { Progress } from "../verify/progress.ts";

const DESCRIPTION = `check settings, certificates, disk, permissions and every database

What to run before an upgrade, with the new program: it says what that would do. It writes nothing, and
works beside a running daemon. The logs themselves are for \`governd verify\`.`;

const EXIT_HELP = `
Exit codes: 0 nothing is wrong (there may be warnings), 1 something is, 2 usage or environment.`;

export function addCheck(program: Command, session: Session): void {
  const check = program
    .command("check")
    .summary("check settings, certificates, disk and every database, before an upgrade")
    .description(DESCRIPTION)
    .option("--json", "print JSON")
    .addHelpText("after", EXIT_HELP)
    .action((options: { json?: boolean }) => runCheck(session, options));
  addSettingOptions(check);
}

async function runCheck(session: Session, options: { json?: boolean }): Promise<void> {
  const { terminal } = session;
  const { settings } = loadSettings(settingFlags({ ...options }));
  const directory = directoryOf(settings);
  const progress = new Progress(terminal, !options.json);
  const nowMs = systemClock();
  let findings: Finding[];
  try {
    const databases = await checkDatabases(directory, (done, total) =>
      progress.step(done, total, "databases"),
    );
    findings = [
      checkDaemon(directory),
      ...databases.findings,
      checkSealKey(directory, settings, databases.sealingKeys),
      ...checkCertificates(directory, settings, nowMs),
      checkDisk(directory, databases.bytesForCopies),
      ...checkPermissions(directory),
      ...checkLeftovers(directory, nowMs),
      checkBackups(settings, nowMs),
    ];
  } finally {
    await progress.clear();
  }
  const severity = worst(findings);
  if (severity === "problem") session.exitCode = EXIT.no;
  const result = { version: VERSION, data_dir: directory.root, result: severity, findings };
  await printResult(terminal, options.json ?? false, result, linesOf(directory.root, findings));
}

const LABELS = { ok: "ok      ", warning: "warning ", problem: "PROBLEM " } as const;

function linesOf(root: string, findings: readonly Finding[]): string[] {
  const lines = findings.map(({ check, severity, message, path }) => {
    const where = path !== undefined && severity !== "ok" ? ` (${path})` : "";
    return `${LABELS[severity]} ${check}: ${message}${where}`;
  });
  const end = {
    ok: "Nothing is wrong.",
    warning: "Nothing is wrong yet.",
    problem: "Something is wrong: mend it before an upgrade.",
  }[worst(findings)];
  return [`governd ${VERSION} on ${root}`, ...lines, end];
}
