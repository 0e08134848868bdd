/** `governd check`: checks permissions, keys, certificates, disk space, leftover files and backups. */
import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { listBackups, newestStart } from "../../backup/destination.ts";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { daemonPid, isLocked } from "../../core/datadir/lock.ts";
import { readSealKey, sealKeySource } from "../../core/datadir/seal-key.ts";
import { Failure, messageOf } from "../../failure.ts";
import { sameHash } from "../../log/merkle.ts";
import { allowedDescriptors, planDescriptors, tooFewDescriptors } from "../../serve/threads/descriptors.ts";
import {
  type CertificateStatus,
  certificateStatus,
  readServerCertificate,
  WARN_BEFORE_DAYS,
} from "../../serve/tls/certificate.ts";
import { storedCertificate } from "../../serve/tls/source.ts";
import type { Settings } from "../../settings/definitions.ts";
import { formatDuration } from "../../settings/values.ts";
import { count, mebibytes } from "../terminal.ts";
import { type Finding, finding } from "./finding.ts";

const DAY_MS = 86_400_000;
/** Less free disk space than this causes a warning. */
const LITTLE_DISK_BYTES = 1024 ** 3;
/** A draft older than this no longer belongs to a running process. */
const STALE_DRAFT_MS = 60 * 60_000;
/** A copy from before a migration that is older than this can be removed. */
const STALE_COPY_MS = 30 * DAY_MS;

/** Reports whether a daemon runs on the directory. */
export function checkDaemon(directory: DataDirectory): Finding {
  return finding("daemon", "ok", `${isLocked(directory) ? "a" : "no"} daemon runs on this directory`);
}

/** Checks that only the owner can use the files, except certificates, which are public. */
export function checkPermissions(directory: DataDirectory): Finding[] {
  const uid = process.getuid?.();
  const names = ["", ...(readdirSync(directory.root, { recursive: true }) as string[])];
  const findings: Finding[] = [];
  for (const name of names) {
    const path = join(directory.root, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    // A daemon may have removed it meanwhile. A new volume contains lost+found.
    if (stats === undefined || name.startsWith("lost+found")) continue;
    const open = (stats.mode & 0o077) !== 0 && !(stats.isFile() && name.endsWith(".crt"));
    if (open) {
      const message = `other users can access it (mode ${(stats.mode & 0o777).toString(8)}): run chmod go= on it, or mount a file system without modes for its user alone`;
      findings.push(finding("permissions", "problem", message, path));
    }
    if (uid !== undefined && uid !== 0 && stats.uid !== uid) {
      const message = `it belongs to user ${stats.uid}, but this command runs as user ${uid}`;
      findings.push(finding("permissions", "warning", message, path));
    }
  }
  if (findings.length > 0) return findings;
  return [finding("permissions", "ok", `only the owner can access the ${count(names.length, "path")}`)];
}

/** Checks that the sealing key can be read and is the key that the workspaces name. */
export function checkSealKey(
  directory: DataDirectory,
  settings: Settings,
  named: ReadonlyMap<string, Uint8Array>,
): Finding {
  try {
    const { publicBytes } = readSealKey(sealKeySource(directory, settings.seal_key));
    const others = [...named].filter(([, key]) => !sameHash(key, publicBytes)).map(([id]) => id);
    if (others.length === 0) {
      const message = `the key is the one that ${count(named.size, "workspace")} must be sealed with`;
      return finding("seal_key", "ok", message);
    }
    const examples = `${others.slice(0, 3).join(", ")}${others.length > 3 ? ", …" : ""}`;
    const message = `the present key is not the one that ${count(others.length, "workspace")} must be sealed with: ${examples}`;
    return finding("seal_key", "problem", message);
  } catch (error) {
    if (error instanceof Failure) return finding("seal_key", "problem", error.message);
    throw error;
  }
}

/** Checks the present certificates and when they expire. Does not create or renew any. */
export function checkCertificates(directory: DataDirectory, settings: Settings, nowMs: number): Finding[] {
  if (settings.tls === "off") return [finding("certificate", "ok", "tls is off: the proxy has the certificate")];
  try {
    const certificate = storedCertificate(settings, directory);
    if (certificate === null) return [finding("certificate", "ok", "the daemon creates its own when it first starts")];
    const found = certificateStatus(certificate, nowMs).map((status) =>
      expiry(status.role === "server" ? "the server's" : "client_ca's", status),
    );
    if (settings.tls !== "auto") return found;
    const { authority, authorityKey } = directory;
    const [issuer] = certificateStatus(readServerCertificate(authority, authorityKey), nowMs);
    return issuer === undefined ? found : [...found, expiry("the daemon's own authority's", issuer)];
  } catch (error) {
    if (error instanceof Failure) return [finding("certificate", "problem", error.message)];
    throw error;
  }
}

function expiry(whose: string, { subject, notBefore, notAfter, daysLeft }: CertificateStatus): Finding {
  const end = new Date(notAfter).toISOString();
  const what = `${whose} certificate (${subject})`;
  if (notBefore !== undefined) {
    const message = `${what} is valid only from ${new Date(notBefore).toISOString()}: until then clients refuse it. Compare the clock of this machine; with tls = "auto" the daemon renews its own when it runs`;
    return finding("certificate", "problem", message);
  }
  if (daysLeft < 0) return finding("certificate", "problem", `${what} expired ${end}`);
  const severity = daysLeft < WARN_BEFORE_DAYS ? "warning" : "ok";
  return finding("certificate", severity, `${what} expires ${end}, in ${count(daysLeft, "day")}`);
}

/** Checks that there is enough space for the copies of an upgrade, and for further work. */
export function checkDisk(directory: DataDirectory, bytesForCopies: number): Finding {
  const { bavail, bsize } = statfsSync(directory.root);
  const free = bavail * bsize;
  const message = `${mebibytes(free)} are free`;
  if (free < bytesForCopies) {
    const needed = `${message}, but the copies before an upgrade need ${mebibytes(bytesForCopies)}: free some space first`;
    return finding("disk", "problem", needed);
  }
  return finding("disk", free < LITTLE_DISK_BYTES ? "warning" : "ok", message);
}

/** Compares the limit of open files, of the running daemon or of one started here, with what the daemon may need. */
export function checkDescriptors(directory: DataDirectory, settings: Settings): Finding {
  const pid = daemonPid(directory);
  const allowed = allowedDescriptors(pid ?? "self");
  const { threads, max_connections: maxConnections } = settings;
  const plan = planDescriptors(allowed, { threads, maxConnections });
  const { needed, least, isLow, open, connections } = plan;
  if (allowed < least) return finding("descriptors", "problem", tooFewDescriptors(allowed, threads, plan));
  const who = pid === null ? "a daemon that is started here" : "the daemon";
  if (!isLow) return finding("descriptors", "ok", `${who} may open the ${needed} files that it may need`);
  const message = `${who} may open ${allowed} files, and may need ${needed}: raise \`ulimit -n\`, or LimitNOFILE of the service; until then it keeps ${count(threads * open.writers, "workspace")} open and accepts ${count(connections, "connection")}`;
  return finding("descriptors", "warning", message);
}

/** Finds files that interrupted processes left, and old copies from before migrations. */
export function checkLeftovers(directory: DataDirectory, nowMs: number): Finding[] {
  const findings: Finding[] = [];
  for (const name of readdirSync(directory.root, { recursive: true }) as string[]) {
    const path = join(directory.root, name);
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs);
    if (name.endsWith(".tmp") && Math.abs(age) > STALE_DRAFT_MS) {
      const message = "a draft that an interrupted process left behind: it can be removed";
      findings.push(finding("leftovers", "warning", message, path));
    }
    if (/\.before-v\d+$/.test(name) && age > STALE_COPY_MS) {
      const message = `a copy from before an upgrade, ${Math.floor(age / DAY_MS)} days old: remove it if the upgrade works`;
      findings.push(finding("leftovers", "warning", message, path));
    }
  }
  return findings.length > 0 ? findings : [finding("leftovers", "ok", "none")];
}

/** Checks that scheduled backups are made in time. */
export function checkBackups(settings: Settings, nowMs: number): Finding {
  const { backup_dir: path, backup_every: every } = settings;
  if (path === null) return finding("backups", "ok", "no backup_dir is set");
  let newest: string | undefined;
  try {
    newest = listBackups(path).at(-1);
  } catch (error) {
    return finding("backups", "problem", `backup_dir cannot be read: ${messageOf(error)}`, path);
  }
  if (newest === undefined) {
    return finding("backups", every === null ? "ok" : "warning", "there is no backup yet", path);
  }
  const { startMs } = newestStart(path, nowMs);
  if (startMs === null) {
    const message = `the newest, ${newest}, has a time that has not come: the clock was ahead when it was made, so its age is not known`;
    return finding("backups", "warning", message, path);
  }
  const age = nowMs - startMs;
  if (every === null || age <= 2 * every) return finding("backups", "ok", `the newest is ${newest}`, path);
  const message = `the newest backup, ${newest}, is older than twice backup_every (${formatDuration(every)}): the daemon's log says why`;
  return finding("backups", "warning", message, path);
}
