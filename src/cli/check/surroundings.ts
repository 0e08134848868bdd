/** `governd check`: what is around the databases: permissions, keys, certificates, disk, leftovers, backups. */
import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { listBackups, timeOfBackup } from "../../backup/destination.ts";
import type { DataDirectory } from "../../datadir/layout.ts";
import { isLocked } from "../../datadir/lock.ts";
import { readSealKey, sealKeySource } from "../../datadir/seal-key.ts";
import { Failure, messageOf } from "../../failure.ts";
import { sameHash } from "../../log/merkle.ts";
import type { Settings } from "../../settings/definitions.ts";
import { formatDuration } from "../../settings/values.ts";
import {
  type CertificateStatus,
  certificateStatus,
  readServerCertificate,
  WARN_BEFORE_DAYS,
} from "../../tls/certificate.ts";
import { storedCertificate } from "../../tls/source.ts";
import { count, mebibytes } from "../terminal.ts";
import type { CheckResult } from "./databases.ts";

const DAY_MS = 86_400_000;
/** Less free disk than this is warned of. */
const LITTLE_DISK_BYTES = 1024 ** 3;
/** A draft as old as this belongs to nobody any more. */
const STALE_DRAFT_MS = 60 * 60_000;
/** A copy from before a migration has done its duty by then. */
const STALE_COPY_MS = 30 * DAY_MS;

/** Whether a daemon runs on the directory. */
export function checkDaemon(directory: DataDirectory): CheckResult {
  const message = isLocked(directory)
    ? "a daemon runs on this directory"
    : "no daemon runs on this directory";
  return { check: "daemon", severity: "ok", message };
}

/** Everything is its owner's alone, but for certificates, which are public. */
export function checkPermissions(directory: DataDirectory): CheckResult[] {
  const uid = process.getuid?.();
  const names = ["", ...(readdirSync(directory.root, { recursive: true }) as string[])];
  const findings: CheckResult[] = [];
  for (const name of names) {
    const path = join(directory.root, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    // What a daemon has removed meanwhile, and what a fresh volume brings.
    if (stats === undefined || name.startsWith("lost+found")) continue;
    const open = (stats.mode & 0o077) !== 0 && !(stats.isFile() && name.endsWith(".crt"));
    if (open) {
      const message = `others than its owner can use it (mode ${(stats.mode & 0o777).toString(8)}): chmod go= on it`;
      findings.push({ check: "permissions", severity: "problem", message, path });
    }
    if (uid !== undefined && uid !== 0 && stats.uid !== uid) {
      const message = `it belongs to another user (${stats.uid}) than this command's (${uid})`;
      findings.push({ check: "permissions", severity: "warning", message, path });
    }
  }
  if (findings.length > 0) return findings;
  return [
    {
      check: "permissions",
      severity: "ok",
      message: `${count(names.length, "path")}, all its owner's alone`,
    },
  ];
}

/** The sealing key can be read, and is the one that the workspaces name. */
export function checkSealKey(
  directory: DataDirectory,
  settings: Settings,
  named: ReadonlyMap<string, Uint8Array>,
): CheckResult {
  const check = "seal_key";
  try {
    const { publicBytes } = readSealKey(sealKeySource(directory, settings.seal_key));
    const others = [...named].filter(([, key]) => !sameHash(key, publicBytes)).map(([id]) => id);
    if (others.length === 0) {
      return { check, severity: "ok", message: `it is the key that seals ${count(named.size, "workspace")}` };
    }
    const message = `the key at hand is not the one that ${count(others.length, "workspace")} must be sealed with: ${others.slice(0, 3).join(", ")}${others.length > 3 ? ", …" : ""}`;
    return { check, severity: "problem", message };
  } catch (error) {
    if (error instanceof Failure) return { check, severity: "problem", message: error.message };
    throw error;
  }
}

/** The certificates that are there and when they end; none is made or renewed. */
export function checkCertificates(
  directory: DataDirectory,
  settings: Settings,
  nowMs: number,
): CheckResult[] {
  const check = "certificate";
  if (settings.tls === "off") {
    return [{ check, severity: "ok", message: "tls is off: a proxy has the certificate" }];
  }
  try {
    const certificate = storedCertificate(settings, directory);
    if (certificate === null) {
      return [{ check, severity: "ok", message: "the daemon makes its own when it first starts" }];
    }
    const found = certificateStatus(certificate, nowMs).map((status) =>
      expiry(status.role === "server" ? "the server's" : "client_ca's", status),
    );
    if (settings.tls !== "auto") return found;
    const { authority, authorityKey } = directory;
    const [issuer] = certificateStatus(readServerCertificate(authority, authorityKey), nowMs);
    return issuer === undefined ? found : [...found, expiry("the own authority's", issuer)];
  } catch (error) {
    if (error instanceof Failure) return [{ check, severity: "problem", message: error.message }];
    throw error;
  }
}

function expiry(whose: string, { subject, notAfter, daysLeft }: CertificateStatus): CheckResult {
  const end = new Date(notAfter).toISOString();
  const what = `${whose} certificate (${subject})`;
  const over = daysLeft < 0;
  return {
    check: "certificate",
    severity: over ? "problem" : daysLeft < WARN_BEFORE_DAYS ? "warning" : "ok",
    message: over ? `${what} ended ${end}` : `${what} ends ${end}, in ${count(daysLeft, "day")}`,
  };
}

/** Room for what an upgrade copies, and for going on. */
export function checkDisk(directory: DataDirectory, bytesForCopies: number): CheckResult {
  const { bavail, bsize } = statfsSync(directory.root);
  const free = bavail * bsize;
  const message = `${mebibytes(free)} are free`;
  if (free < bytesForCopies) {
    const needed = `${message}, and the copies before an upgrade take ${mebibytes(bytesForCopies)}: make room first`;
    return { check: "disk", severity: "problem", message: needed };
  }
  return { check: "disk", severity: free < LITTLE_DISK_BYTES ? "warning" : "ok", message };
}

/** Files that a run which was cut off left behind, and copies from before migrations. */
export function checkLeftovers(directory: DataDirectory, nowMs: number): CheckResult[] {
  const findings: CheckResult[] = [];
  for (const name of readdirSync(directory.root, { recursive: true }) as string[]) {
    const path = join(directory.root, name);
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs);
    if (name.endsWith(".tmp") && age > STALE_DRAFT_MS) {
      const message = "a draft that a run which was cut off left behind: it can be removed";
      findings.push({ check: "leftovers", severity: "warning", message, path });
    }
    if (/\.before-v\d+$/.test(name) && age > STALE_COPY_MS) {
      const message = `a copy from before an upgrade, ${Math.floor(age / DAY_MS)} days old: it can be removed when the upgrade is good`;
      findings.push({ check: "leftovers", severity: "warning", message, path });
    }
  }
  if (findings.length > 0) return findings;
  return [{ check: "leftovers", severity: "ok", message: "none" }];
}

/** Scheduled backups are made in time. */
export function checkBackups(settings: Settings, nowMs: number): CheckResult {
  const { backup_dir: path, backup_every: every } = settings;
  const check = "backups";
  if (path === null) return { check, severity: "ok", message: "no backup_dir is set" };
  let newest: string | undefined;
  try {
    newest = listBackups(path).at(-1);
  } catch (error) {
    const message = `backup_dir cannot be read: ${messageOf(error)}`;
    return { check, severity: "problem", message, path };
  }
  if (newest === undefined) {
    return { check, severity: every === null ? "ok" : "warning", message: "there is no backup yet", path };
  }
  const age = nowMs - (timeOfBackup(newest) as number);
  const late = every !== null && age > 2 * every;
  const message = late
    ? `the newest backup, ${newest}, is older than two times backup_every (${formatDuration(every)}): the daemon's log says why`
    : `the newest is ${newest}`;
  return { check, severity: late ? "warning" : "ok", message, path };
}
