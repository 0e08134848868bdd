/** Accounts as the control database knows them. */
import type { Connection } from "../../store/connection.ts";

/** A mail address: a name to sign in with. Nothing is ever sent to it. */
const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u;

/** One form for an address, so that case makes no second account. */
export const normaliseEmail = (email: string): string => email.trim().normalize("NFC").toLowerCase();

export const isEmail = (text: string): boolean => text.isWellFormed() && EMAIL.test(normaliseEmail(text));

export interface AccountRecord {
  id: string;
  email: string;
  name: string;
  /** PHC string, Argon2id. */
  password: string;
  totpSecret: string | null;
  /** Null while no second factor is asked for. */
  totpSince: number | null;
  totpStep: number;
  createdAt: number;
}

type AccountRow = readonly [
  id: string,
  email: string,
  name: string,
  password: string,
  totpSecret: string | null,
  totpSince: number | null,
  totpStep: number,
  createdAt: number,
];

const COLUMNS = "id, email, name, password, totp_secret, totp_since, totp_step, created_at";

function fromRow(row: AccountRow): AccountRecord {
  const [id, email, name, password, totpSecret, totpSince, totpStep, createdAt] = row;
  return { id, email, name, password, totpSecret, totpSince, totpStep, createdAt };
}

export function insertAccount(connection: Connection, account: AccountRecord): void {
  connection.run(
    "INSERT INTO accounts (id, email, name, password, password_changed_at, created_at) VALUES (?, ?, ?, ?, ?, ?)",
    [account.id, account.email, account.name, account.password, account.createdAt, account.createdAt],
  );
}

export function findAccount(connection: Connection, id: string): AccountRecord | undefined {
  const row = connection.get<AccountRow>(`SELECT ${COLUMNS} FROM accounts WHERE id = ?`, [id]);
  return row && fromRow(row);
}

/** By its mail address in normal form. */
export function findAccountByEmail(connection: Connection, email: string): AccountRecord | undefined {
  const row = connection.get<AccountRow>(`SELECT ${COLUMNS} FROM accounts WHERE email = ?`, [email]);
  return row && fromRow(row);
}

export const hasAccounts = (connection: Connection): boolean =>
  connection.get("SELECT 1 FROM accounts LIMIT 1") !== undefined;

/** All accounts, oldest first. */
export function listAccounts(connection: Connection): AccountRecord[] {
  return connection.all<AccountRow>(`SELECT ${COLUMNS} FROM accounts ORDER BY created_at, id`).map(fromRow);
}

export function renameAccount(connection: Connection, id: string, name: string): void {
  connection.run("UPDATE accounts SET name = ? WHERE id = ?", [name, id]);
}

export function setPassword(connection: Connection, id: string, password: string, at: number): void {
  connection.run("UPDATE accounts SET password = ?, password_changed_at = ? WHERE id = ?", [
    password,
    at,
    id,
  ]);
}

/** Begins a second factor; it is not asked for before {@link confirmTotp}. */
export function beginTotp(connection: Connection, id: string, secret: string): void {
  connection.run("UPDATE accounts SET totp_secret = ?, totp_since = NULL, totp_step = 0 WHERE id = ?", [
    secret,
    id,
  ]);
}

export function confirmTotp(connection: Connection, id: string, at: number): void {
  connection.run("UPDATE accounts SET totp_since = ? WHERE id = ?", [at, id]);
}

/** Ends the second factor, its recovery codes included. */
export function dropTotp(connection: Connection, id: string): void {
  connection.run("UPDATE accounts SET totp_secret = NULL, totp_since = NULL, totp_step = 0 WHERE id = ?", [
    id,
  ]);
  connection.run("DELETE FROM recovery_codes WHERE account_id = ?", [id]);
}

/** Notes the step of a code that was taken; false when it, or a newer one, was taken before. */
export function takeTotpStep(connection: Connection, id: string, step: number): boolean {
  return (
    connection.run("UPDATE accounts SET totp_step = ? WHERE id = ? AND totp_step < ?", [step, id, step]) === 1
  );
}

export function replaceRecoveryCodes(
  connection: Connection,
  id: string,
  digests: readonly Uint8Array[],
): void {
  connection.run("DELETE FROM recovery_codes WHERE account_id = ?", [id]);
  for (const digest of digests) {
    connection.run("INSERT INTO recovery_codes (account_id, digest) VALUES (?, ?)", [id, digest]);
  }
}

/** Uses a recovery code up; false when there is no such code. */
export function takeRecoveryCode(connection: Connection, id: string, digest: Uint8Array): boolean {
  return connection.run("DELETE FROM recovery_codes WHERE account_id = ? AND digest = ?", [id, digest]) === 1;
}

export function countRecoveryCodes(connection: Connection, id: string): number {
  return connection.get<[number]>("SELECT count(*) FROM recovery_codes WHERE account_id = ?", [id])?.[0] ?? 0;
}

/** Devices that one account has remembered; older ones are forgotten. */
const MAX_DEVICES = 20;

/** Remembers a browser that signed in. */
export function rememberDevice(connection: Connection, id: string, digest: Uint8Array, at: number): void {
  connection.run(
    "INSERT INTO devices (digest, account_id, last_used_at) VALUES (?, ?, ?) " +
      "ON CONFLICT (digest) DO UPDATE SET account_id = excluded.account_id, last_used_at = excluded.last_used_at",
    [digest, id, at],
  );
  connection.run(
    "DELETE FROM devices WHERE account_id = ? AND digest NOT IN " +
      "(SELECT digest FROM devices WHERE account_id = ? ORDER BY last_used_at DESC LIMIT ?)",
    [id, id, MAX_DEVICES],
  );
}

/** Whether this browser signed in to the account of this mail address. */
export function isKnownDevice(connection: Connection, email: string, digest: Uint8Array): boolean {
  return (
    connection.get(
      "SELECT 1 FROM devices d JOIN accounts a ON a.id = d.account_id WHERE d.digest = ? AND a.email = ?",
      [digest, email],
    ) !== undefined
  );
}

export function forgetDevices(connection: Connection, id: string): void {
  connection.run("DELETE FROM devices WHERE account_id = ?", [id]);
}
