/**
 * The certificate authority that daemons in tests share, and the certificate that it issued. The first daemon makes
 * them, which takes a third of the processor time of its start. Daemons in tests of certificates make their own.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

const KEPT = join(import.meta.dir, "../../.cache/tested-authority");

/** Copies the authority and its certificate into a data directory that does not exist yet. */
export function lendAuthority(dataDir: string): void {
  if (!existsSync(KEPT)) return;
  mkdirSync(dataDir, { mode: 0o700 });
  cpSync(KEPT, join(dataDir, "tls"), { recursive: true });
}

/** Keeps the authority that a daemon made in its data directory, unless one is kept already. */
export function keepAuthority(dataDir: string): void {
  if (existsSync(KEPT)) return;
  mkdirSync(dirname(KEPT), { recursive: true });
  const aside = mkdtempSync(`${KEPT}-`);
  cpSync(join(dataDir, "tls"), aside, { recursive: true });
  try {
    renameSync(aside, KEPT);
  } catch (error) {
    // Another process was faster: a directory with files cannot be replaced.
    rmSync(aside, { recursive: true });
    if (!existsSync(KEPT)) throw error;
  }
}
