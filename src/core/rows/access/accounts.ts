/** The accounts, and how people sign in to them, as the file of the installation has them: rows that events state. */
import type { Reader } from "../../../store/transaction.ts";
import type { SqlValue } from "../../../store/values.ts";

/** The stored password of an account that has none. */
export const NO_PASSWORD = "";

/** Times are ms since the Unix epoch. */
export interface StoredAccount {
  id: string;
  email: string;
  name: string;
  /** PHC string, Argon2id; {@link NO_PASSWORD} for an account that only signs in by an issuer. */
  password: string;
  passwordChangedAt: number;
  /** The encrypted secret of the authenticator. */
  totpSecret: string | null;
  /** Null while the account has no authenticator, or has not confirmed it. */
  totpSince: number | null;
  /** The time step of the last code that was taken. */
  totpStep: number;
  /** The SHA-256 of the recovery codes that are left, hex. */
  codes: readonly string[];
  createdAt: number;
  /** The link or the invitation with which it was made; null without one. */
  linkId: string | null;
}

const ACCOUNT = `SELECT a.id, a.email, a.name, a.password, a.password_changed_at, a.totp_secret, a.totp_since, a.totp_step,
  a.codes, c.timestamp, a.link_id FROM accounts a JOIN events c ON c.seq = a.created_seq`;

type AccountRow = [
  ...[id: string, email: string, name: string, password: string, passwordChangedAt: number],
  ...[totpSecret: string | null, totpSince: number | null, totpStep: number, codes: string],
  ...[createdAt: string, linkId: string | null],
];

function accountOf(row: AccountRow): StoredAccount {
  const [id, email, name, password, passwordChangedAt, totpSecret, totpSince, totpStep, codes, createdAt, linkId] = row;
  return {
    ...{ id, email, name, password, passwordChangedAt, totpSecret, totpSince, totpStep, linkId },
    ...{ codes: JSON.parse(codes) as string[], createdAt: Date.parse(createdAt) },
  };
}

async function oneAccount(reader: Reader, where: string, value: SqlValue): Promise<StoredAccount | undefined> {
  const row = await reader.get<AccountRow>(`${ACCOUNT} WHERE ${where}`, [value]);
  return row && accountOf(row);
}

export const findAccount = (reader: Reader, id: string) => oneAccount(reader, "a.id = ?", id);

/** Finds an account by its normalised mail address. */
export const findAccountByEmail = (reader: Reader, email: string) => oneAccount(reader, "a.email = ?", email);

/** Finds the account that was made with a link or an invitation. */
export const findAccountByLink = (reader: Reader, linkId: string) => oneAccount(reader, "a.link_id = ?", linkId);

/** Returns all accounts, the oldest first. */
export async function listAccounts(reader: Reader): Promise<StoredAccount[]> {
  return (await reader.all<AccountRow>(`${ACCOUNT} ORDER BY a.created_seq`)).map(accountOf);
}

export const hasAccounts = async (reader: Reader): Promise<boolean> =>
  (await reader.value("SELECT 1 FROM accounts LIMIT 1")) !== undefined;

/** Whether an account has an authenticator that is in force. */
export const hasTotp = ({ totpSince }: StoredAccount): boolean => totpSince !== null;

/** Whether a password alone does not sign in to an account. */
export const hasSecondFactor = async (reader: Reader, account: StoredAccount): Promise<boolean> =>
  hasTotp(account) || (await listPasskeys(reader, account.id)).length > 0;

/**
 * Whether an account has what a workspace may require of its members. For an account without a password, the issuer must have
 * stated at the last sign-in that it used more than one factor. A password alone is never enough.
 */
export async function meetsRequirement(reader: Reader, accountId: string): Promise<boolean> {
  const account = await findAccount(reader, accountId);
  if (account === undefined) return false;
  if (await hasSecondFactor(reader, account)) return true;
  return account.password === NO_PASSWORD && (await listIdentities(reader, accountId)).some((one) => one.isMultiFactor);
}

export interface StoredPasskey {
  id: string;
  accountId: string;
  name: string;
  /** The host name under which it was made. It works only under this one. */
  host: string;
  /** The authenticator's id for it, base64url. */
  credentialId: string;
  /** COSE key (RFC 9052), base64url. */
  publicKey: string;
  /** The signature counter of the last signature; 0 when the authenticator has none. */
  counter: number;
  createdAt: number;
  lastUsedAt: number | null;
}

const PASSKEY = `SELECT p.id, p.account_id, p.name, p.host, p.credential_id, p.public_key, p.counter, c.timestamp, u.timestamp
  FROM passkeys p JOIN events c ON c.seq = p.created_seq LEFT JOIN events u ON u.seq = p.used_seq`;

type PasskeyRow = [
  ...[id: string, accountId: string, name: string, host: string, credentialId: string, publicKey: string],
  ...[counter: number, createdAt: string, usedAt: string | null],
];

function passkeyOf(row: PasskeyRow): StoredPasskey {
  const [id, accountId, name, host, credentialId, publicKey, counter, createdAt, usedAt] = row;
  return {
    ...{ id, accountId, name, host, credentialId, publicKey, counter, createdAt: Date.parse(createdAt) },
    lastUsedAt: usedAt === null ? null : Date.parse(usedAt),
  };
}

/** Returns the passkeys of an account, the oldest first. */
export async function listPasskeys(reader: Reader, accountId: string): Promise<StoredPasskey[]> {
  const sql = `${PASSKEY} WHERE p.account_id = ? ORDER BY p.created_seq`;
  return (await reader.all<PasskeyRow>(sql, [accountId])).map(passkeyOf);
}

export async function findPasskey(reader: Reader, credentialId: string): Promise<StoredPasskey | undefined> {
  const row = await reader.get<PasskeyRow>(`${PASSKEY} WHERE p.credential_id = ?`, [credentialId]);
  return row && passkeyOf(row);
}

/** Somebody at an OpenID issuer. */
export interface StoredIdentity {
  id: string;
  accountId: string;
  issuer: string;
  subject: string;
  /** Whether the issuer had asked for more than one factor at the last sign-in. */
  isMultiFactor: boolean;
}

const IDENTITY = "SELECT id, account_id, issuer, subject, multi_factor FROM identities";

type IdentityRow = [id: string, accountId: string, issuer: string, subject: string, multiFactor: number];

const identityOf = ([id, accountId, issuer, subject, multiFactor]: IdentityRow): StoredIdentity => ({
  ...{ id, accountId, issuer, subject, isMultiFactor: multiFactor === 1 },
});

export async function findIdentity(
  reader: Reader,
  issuer: string,
  subject: string,
): Promise<StoredIdentity | undefined> {
  const row = await reader.get<IdentityRow>(`${IDENTITY} WHERE issuer = ? AND subject = ?`, [issuer, subject]);
  return row && identityOf(row);
}

/** Returns the identities of an account, the oldest first. It has at most one of each issuer. */
export async function listIdentities(reader: Reader, accountId: string): Promise<StoredIdentity[]> {
  const sql = `${IDENTITY} WHERE account_id = ? ORDER BY linked_seq`;
  return (await reader.all<IdentityRow>(sql, [accountId])).map(identityOf);
}

/** Returns whether the operator chose that people sign in by the issuer only; null when the setting applies. */
export async function chosenIssuerOnly(reader: Reader): Promise<boolean | null> {
  const chosen = (await reader.value<number | null>("SELECT issuer_only FROM workspace")) ?? null;
  return chosen === null ? null : chosen === 1;
}
