/**
 * The certificate authority of daemons in tests, and the certificate that it issued: made by the first daemon that needs
 * one, since making them takes a third of the processor time of a start. Tests of how they are made use other daemons.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

const KEPT = join(import.meta.dir, "../../.cache/tested-authority");

/** Puts them into a data directory that does not exist yet. */
export function lendAuthority(dataDir: string): void {
  if (!existsSync(KEPT)) return;
  mkdirSync(dataDir, { mode: 0o700 });
  cpSync(KEPT, join(dataDir, "tls"), { recursive: true });
}

/** Keeps those that a daemon made in its data directory, unless some are kept. */
export function keepAuthority(dataDir: string): void {
  if (existsSync(KEPT)) return;
  mkdirSync(dirname(KEPT), { recursive: true });
  const aside = mkdtempSync(`${KEPT}-`);
  cpSync(join(dataDir, "tls"), aside, { recursive: true });
  try {
    renameSync(aside, KEPT);
  } catch (error) {
    // Another process was quicker, and nothing replaces a directory that has files.
    rmSync(aside, { recursive: true });
    if (!existsSync(KEPT)) throw error;
  }
}
