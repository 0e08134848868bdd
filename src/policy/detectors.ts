/**
 * Every detector, described once. Findings, messages and docs/screening.md read this list. Where each detector looks
 * is in anchors.ts, which does not compile without an entry for every detector.
 */
import type { PolicyName } from "./policies.ts";

export interface Detector {
  policy: PolicyName;
  /** Of personal data: 1 names a person or an account; 2 a device, an address on a network, a wallet. */
  tier: 1 | 2 | null;
  /** What it finds, with its article: "an email address". */
  words: string;
  /** Whether it also recognizes tokens by their form alone (`tokenHit` in scan.ts), with no word beside them. */
  readsTokens: boolean;
}

export const DETECTORS = {
  email: { policy: "block_pii", tier: 1, words: "an email address", readsTokens: false },
  phone: { policy: "block_pii", tier: 1, words: "a phone number", readsTokens: true },
  credit_card: { policy: "block_pii", tier: 1, words: "a payment card number", readsTokens: true },
  iban: { policy: "block_pii", tier: 1, words: "an IBAN", readsTokens: true },
  bank_account: { policy: "block_pii", tier: 1, words: "a bank account number", readsTokens: false },
  us_ssn: { policy: "block_pii", tier: 1, words: "a US social security number", readsTokens: true },
  us_itin: { policy: "block_pii", tier: 1, words: "a US individual taxpayer number", readsTokens: true },
  passport: { policy: "block_pii", tier: 1, words: "a passport number", readsTokens: false },
  driver_license: { policy: "block_pii", tier: 1, words: "a driving licence number", readsTokens: true },
  national_id: { policy: "block_pii", tier: 1, words: "a national identity number", readsTokens: true },
  tax_id: { policy: "block_pii", tier: 1, words: "a tax number", readsTokens: true },
  medical_id: {
    policy: "block_pii",
    tier: 1,
    words: "a health insurance or patient number",
    readsTokens: true,
  },
  date_of_birth: { policy: "block_pii", tier: 1, words: "a date of birth", readsTokens: false },
  postal_address: { policy: "block_pii", tier: 1, words: "a postal address", readsTokens: false },
  ip_address: { policy: "block_pii", tier: 2, words: "a public IP address", readsTokens: true },
  mac_address: { policy: "block_pii", tier: 2, words: "a MAC address", readsTokens: true },
  crypto_wallet: {
    policy: "block_pii",
    tier: 2,
    words: "a cryptocurrency wallet address",
    readsTokens: true,
  },
  vehicle_id: {
    policy: "block_pii",
    tier: 2,
    words: "a vehicle registration or identification number",
    readsTokens: true,
  },
  device_id: { policy: "block_pii", tier: 2, words: "a device identifier", readsTokens: false },
  provider_token: {
    policy: "block_secrets",
    tier: null,
    words: "a provider's access token",
    readsTokens: false,
  },
  keyed_token: {
    policy: "block_secrets",
    tier: null,
    words: "a key or token of a named service",
    readsTokens: false,
  },
  generic_credential: {
    policy: "block_secrets",
    tier: null,
    words: "a password or other credential",
    readsTokens: false,
  },
  auth_header: { policy: "block_secrets", tier: null, words: "an authorization header", readsTokens: false },
  connection_string: {
    policy: "block_secrets",
    tier: null,
    words: "a connection string with a password",
    readsTokens: false,
  },
  webhook_url: {
    policy: "block_secrets",
    tier: null,
    words: "a webhook address that acts as a secret",
    readsTokens: false,
  },
  jwt: { policy: "block_secrets", tier: null, words: "a JSON Web Token", readsTokens: false },
  private_key: { policy: "block_secrets", tier: null, words: "a private key", readsTokens: false },
} satisfies Readonly<Record<string, Detector>>;

export type DetectorName = keyof typeof DETECTORS;

/** Stands for a detector in the finding of a text that would cost too much to look through. */
export const BUDGET = "budget";

/** What a detector finds, in words: "an email address". A policy's own word stands for itself. */
export function detectorWords(name: string): string {
  if (name === BUDGET) return "more suspicious places than can be checked";
  return Object.hasOwn(DETECTORS, name) ? DETECTORS[name as DetectorName].words : name;
}
