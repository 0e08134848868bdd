/** Accounts in the control database. */
import type { Connection } from "../../store/connection.ts";
import { changedOne, countOf, Table } from "../directory/table.ts";

/** A mail address is only a name to sign in with. No mail is sent to it. */
const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u;

/** Returns the stored form of an address, so that a different case does not create a second account. */
export const normaliseEmail = (email: string): string => email.trim().normalize("NFC").toLowerCase();

export const isEmail = (text: string): boolean => text.isWellFormed() && EMAIL.test(normaliseEmail(text));

/** The stored password of an account that has none. */
export const NO_PASSWORD = "";

export interface AccountRecord {
  id: string;
  email: string;
  name: string;
  /** PHC string, Argon2id; {@link NO_PASSWORD} for an account that only signs in by an issuer. */
  password: string;
  /** The encrypted secret of the authenticator; see `factor-key.ts`. */
  totpSecret: string | null;
  /** Null while the account has no second factor, or has not confirmed it. */
  totpSince: number | null;
  totpStep: number;
  createdAt: number;
}

export const ACCOUNTS = new Table<AccountRecord>("accounts", {
  id: "id",
  email: "email",
  name: "name",
  password: "password",
  totpSecret: "totp_secret",
  totpSince: "totp_since",
  totpStep: "totp_step",
  createdAt: "created_at",
});

export function insertAccount(connection: Connection, account: AccountRecord): void {
  ACCOUNTS.insert(connection, account, { password_changed_at: account.createdAt });
}

export function findAccount(connection: Connection, id: string): AccountRecord | undefined {
  return ACCOUNTS.find(connection, "WHERE id = ?", [id]);
}

/** Finds an account by its normalised mail address. */
export function findAccountByEmail(connection: Connection, email: string): AccountRecord | undefined {
  return ACCOUNTS.find(connection, "WHERE email = ?", [email]);
}

export const hasAccounts = (connection: Connection): boolean =>
  connection.get("SELECT 1 FROM accounts LIMIT 1") !== undefined;

/** Returns all accounts, oldest first. */
export function listAccounts(connection: Connection): AccountRecord[] {
  return ACCOUNTS.list(connection, "ORDER BY created_at, id");
}

/** Stores the time step of an accepted code. Returns false when this or a later step was accepted before. */
export function takeTotpStep(connection: Connection, id: string, step: number): boolean {
  return ACCOUNTS.update(connection, { totp_step: step }, "id = ? AND totp_step < ?", [id, step]);
}

/** Deletes a recovery code that was used. Returns false when there is no such code. */
export function takeRecoveryCode(connection: Connection, id: string, digest: Uint8Array): boolean {
  const sql = "DELETE FROM recovery_codes WHERE account_id = ? AND digest = ?";
  return changedOne(connection, sql, [id, digest]);
}

/** Returns the digests of the recovery codes that are left, hex. */
export const listRecoveryCodes = (connection: Connection, id: string): string[] =>
  connection
    .all<[Uint8Array]>("SELECT digest FROM recovery_codes WHERE account_id = ?", [id])
    .map(([digest]) => new Uint8Array(digest).toHex());

export function countRecoveryCodes(connection: Connection, id: string): number {
  return countOf(connection, "SELECT count(*) FROM recovery_codes WHERE account_id = ?", [id]);
}

/** The most devices that one account remembers. The oldest is forgotten first. */
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

/** Reports whether this browser signed in to the account of this mail address before. */
export function isKnownDevice(connection: Connection, email: string, digest: Uint8Array): boolean {
  const sql = "SELECT 1 FROM devices d JOIN accounts a ON a.id = d.account_id WHERE d.digest = ? AND a.email = ?";
  return connection.get(sql, [digest, email]) !== undefined;
}
