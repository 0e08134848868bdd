/** `governd check`: checks everything before an upgrade, and changes nothing. */
import type { Command } from "commander";
import { EXIT } from "../../failure.ts";
import { systemClock } from "../../ids.ts";
import { VERSION } from "../../version.ts";
import { checkDatabases } from "../check/databases.ts";
import { type Finding, worst } from "../check/finding.ts";
import { checkIssuer } from "../check/issuer.ts";
import { checkSinks } from "../check/sinks.ts";
import {
  checkBackups,
  checkCertificates,
  checkDaemon,
  checkDescriptors,
  checkDisk,
  checkLeftovers,
  checkPermissions,
  checkSealKey,
} from "../check/surroundings.ts";
import { dataDirectoryOf } from "../data-directory.ts";
import { addCommonOptions, type Session } from "../session.ts";

const DESCRIPTION = `check settings, certificates, disk, permissions and every database

Run it with the new program before an upgrade: it says what the upgrade would do. It writes nothing, and works
beside a running daemon. To verify the logs themselves, use \`governd verify\`.`;

const EXIT_HELP = `
Exit codes: 0 no problem (there may be warnings), 1 a problem was found, 2 usage or environment.`;

const LABELS = { ok: "ok      ", warning: "warning ", problem: "PROBLEM " } as const;
const SUMMARIES = {
  ok: "No problems found.",
  warning: "No problems found, but there are warnings.",
  problem: "There are problems: fix them before an upgrade.",
} as const;

export function addCheck(program: Command, session: Session): void {
  const check = program
    .command("check")
    .summary("check settings, certificates, disk and every database, before an upgrade")
    .description(DESCRIPTION)
    .addHelpText("after", EXIT_HELP)
    .action((options: object) => runCheck(session, options));
  addCommonOptions(check);
}

async function runCheck(session: Session, options: object): Promise<void> {
  const { settings, directory } = dataDirectoryOf(options);
  const nowMs = systemClock();
  const findings = await session.withProgress(async (progress): Promise<Finding[]> => {
    const databases = await checkDatabases(directory, nowMs, (done, total) => progress.step(done, total, "databases"));
    return [
      checkDaemon(directory),
      ...databases.findings,
      checkSealKey(directory, settings, databases.sealingKeys),
      ...checkCertificates(directory, settings, nowMs),
      checkDisk(directory, databases.bytesForCopies),
      checkDescriptors(directory, settings),
      ...checkPermissions(directory),
      ...checkLeftovers(directory, nowMs),
      checkBackups(settings, nowMs),
      ...checkSinks(databases.sinks, directory, settings),
      ...(await checkIssuer(settings)),
    ];
  });
  const severity = worst(findings);
  if (severity === "problem") session.exitCode = EXIT.no;
  const result = { version: VERSION, data_dir: directory.root, result: severity, findings };
  await session.print(result, [
    `governd ${VERSION} on ${directory.root}`,
    ...findings.map(lineOf),
    SUMMARIES[severity],
  ]);
}

function lineOf({ check, severity, message, path }: Finding): string {
  const where = path !== undefined && severity !== "ok" ? ` (${path})` : "";
  return `${LABELS[severity]} ${check}: ${message}${where}`;
}
