/** `governd check`: checks permissions, keys, certificates, disk space, leftover files and backups. */
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
/** Less free disk space than this causes a warning. */
const LITTLE_DISK_BYTES = 1024 ** 3;
/** A draft older than this no longer belongs to a running process. */
const STALE_DRAFT_MS = 60 * 60_000;
/** A copy from before a migration that is older than this can be removed. */
const STALE_COPY_MS = 30 * DAY_MS;

/** Reports whether a daemon runs on the directory. */
export function checkDaemon(directory: DataDirectory): CheckResult {
  const message = isLocked(directory) ? "a daemon runs on this directory" : "no daemon runs on this directory";
  return { check: "daemon", severity: "ok", message };
}

/** Checks that only the owner can use the files, except certificates, which are public. */
export function checkPermissions(directory: DataDirectory): CheckResult[] {
  const uid = process.getuid?.();
  const names = ["", ...(readdirSync(directory.root, { recursive: true }) as string[])];
  const findings: CheckResult[] = [];
  for (const name of names) {
    const path = join(directory.root, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    // A daemon may have removed it meanwhile. A new volume contains lost+found.
    if (stats === undefined || name.startsWith("lost+found")) continue;
    const open = (stats.mode & 0o077) !== 0 && !(stats.isFile() && name.endsWith(".crt"));
    if (open) {
      const message = `other users can access it (mode ${(stats.mode & 0o777).toString(8)}): run chmod go= on it`;
      findings.push({ check: "permissions", severity: "problem", message, path });
    }
    if (uid !== undefined && uid !== 0 && stats.uid !== uid) {
      const message = `it belongs to user ${stats.uid}, but this command runs as user ${uid}`;
      findings.push({ check: "permissions", severity: "warning", message, path });
    }
  }
  if (findings.length > 0) return findings;
  return [
    { check: "permissions", severity: "ok", message: `only the owner can access the ${count(names.length, "path")}` },
  ];
}

/** Checks that the sealing key can be read and is the key that the workspaces name. */
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
      return {
        check,
        severity: "ok",
        message: `the key is the one that ${count(named.size, "workspace")} must be sealed with`,
      };
    }
    const message = `the present key is not the one that ${count(others.length, "workspace")} must be sealed with: ${others.slice(0, 3).join(", ")}${others.length > 3 ? ", …" : ""}`;
    return { check, severity: "problem", message };
  } catch (error) {
    if (error instanceof Failure) return { check, severity: "problem", message: error.message };
    throw error;
  }
}

/** Checks the present certificates and when they expire. Does not create or renew any. */
export function checkCertificates(directory: DataDirectory, settings: Settings, nowMs: number): CheckResult[] {
  const check = "certificate";
  if (settings.tls === "off") {
    return [{ check, severity: "ok", message: "tls is off: the proxy has the certificate" }];
  }
  try {
    const certificate = storedCertificate(settings, directory);
    if (certificate === null) {
      return [{ check, severity: "ok", message: "the daemon creates its own when it first starts" }];
    }
    const found = certificateStatus(certificate, nowMs).map((status) =>
      expiry(status.role === "server" ? "the server's" : "client_ca's", status),
    );
    if (settings.tls !== "auto") return found;
    const { authority, authorityKey } = directory;
    const [issuer] = certificateStatus(readServerCertificate(authority, authorityKey), nowMs);
    return issuer === undefined ? found : [...found, expiry("the daemon's own authority's", issuer)];
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
    message: over ? `${what} expired ${end}` : `${what} expires ${end}, in ${count(daysLeft, "day")}`,
  };
}

/** Checks that there is enough space for the copies of an upgrade, and for further work. */
export function checkDisk(directory: DataDirectory, bytesForCopies: number): CheckResult {
  const { bavail, bsize } = statfsSync(directory.root);
  const free = bavail * bsize;
  const message = `${mebibytes(free)} are free`;
  if (free < bytesForCopies) {
    const needed = `${message}, but the copies before an upgrade need ${mebibytes(bytesForCopies)}: free some space first`;
    return { check: "disk", severity: "problem", message: needed };
  }
  return { check: "disk", severity: free < LITTLE_DISK_BYTES ? "warning" : "ok", message };
}

/** Finds files that interrupted processes left behind, and old copies from before migrations. */
export function checkLeftovers(directory: DataDirectory, nowMs: number): CheckResult[] {
  const findings: CheckResult[] = [];
  for (const name of readdirSync(directory.root, { recursive: true }) as string[]) {
    const path = join(directory.root, name);
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs);
    if (name.endsWith(".tmp") && age > STALE_DRAFT_MS) {
      const message = "a draft that an interrupted process left behind: it can be removed";
      findings.push({ check: "leftovers", severity: "warning", message, path });
    }
    if (/\.before-v\d+$/.test(name) && age > STALE_COPY_MS) {
      const message = `a copy from before an upgrade, ${Math.floor(age / DAY_MS)} days old: remove it if the upgrade works`;
      findings.push({ check: "leftovers", severity: "warning", message, path });
    }
  }
  if (findings.length > 0) return findings;
  return [{ check: "leftovers", severity: "ok", message: "none" }];
}

/** Checks that scheduled backups are made in time. */
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
    ? `the newest backup, ${newest}, is older than twice backup_every (${formatDuration(every)}): the daemon's log says why`
    : `the newest is ${newest}`;
  return { check, severity: late ? "warning" : "ok", message, path };
}
