/**
 * Every detector, described once. Findings, messages and docs/screening.md read this list. Where each detector looks
 * is in anchors.ts, which does not compile without an entry for every detector.
 */
import type { PolicyName } from "./policies.ts";

export interface Detector {
  policy: PolicyName;
  /**
   * The tier of personal data: 1 identifies a person or an account; 2 a device, a network address or a wallet. Null for
   * secrets.
   */
  tier: 1 | 2 | null;
  /** What the detector finds, with an article: "an email address". */
  words: string;
  /** Whether it also recognizes tokens by their form alone (`tokenHit` in scan.ts), with no word beside them. */
  readsTokens: boolean;
}

// The facts that the detectors of a family share.
const PERSON = { policy: "block_pii", tier: 1 } as const;
const DEVICE = { policy: "block_pii", tier: 2 } as const;
const SECRET = { policy: "block_secrets", tier: null } as const;

export const DETECTORS = {
  email: { ...PERSON, words: "an email address", readsTokens: false },
  phone: { ...PERSON, words: "a phone number", readsTokens: true },
  credit_card: { ...PERSON, words: "a payment card number", readsTokens: true },
  iban: { ...PERSON, words: "an IBAN", readsTokens: true },
  bank_account: { ...PERSON, words: "a bank account number", readsTokens: false },
  us_ssn: { ...PERSON, words: "a US social security number", readsTokens: true },
  us_itin: { ...PERSON, words: "a US individual taxpayer number", readsTokens: true },
  passport: { ...PERSON, words: "a passport number", readsTokens: false },
  driver_license: { ...PERSON, words: "a driving licence number", readsTokens: true },
  national_id: { ...PERSON, words: "a national identity number", readsTokens: true },
  tax_id: { ...PERSON, words: "a tax number", readsTokens: true },
  medical_id: { ...PERSON, words: "a health insurance or patient number", readsTokens: true },
  date_of_birth: { ...PERSON, words: "a date of birth", readsTokens: false },
  postal_address: { ...PERSON, words: "a postal address", readsTokens: true },
  ip_address: { ...DEVICE, words: "a public IP address", readsTokens: true },
  mac_address: { ...DEVICE, words: "a MAC address", readsTokens: true },
  crypto_wallet: { ...DEVICE, words: "a cryptocurrency wallet address", readsTokens: true },
  vehicle_id: { ...DEVICE, words: "a vehicle registration or identification number", readsTokens: true },
  device_id: { ...DEVICE, words: "a device identifier", readsTokens: false },
  provider_token: { ...SECRET, words: "a provider's access token", readsTokens: false },
  keyed_token: { ...SECRET, words: "a key or token of a named service", readsTokens: false },
  generic_credential: { ...SECRET, words: "a password or other credential", readsTokens: false },
  auth_header: { ...SECRET, words: "an authorization header", readsTokens: false },
  connection_string: { ...SECRET, words: "a connection string with a password", readsTokens: false },
  webhook_url: { ...SECRET, words: "a webhook address that acts as a secret", readsTokens: false },
  jwt: { ...SECRET, words: "a JSON Web Token", readsTokens: false },
  private_key: { ...SECRET, words: "a private key", readsTokens: false },
} satisfies Readonly<Record<string, Detector>>;

export type DetectorName = keyof typeof DETECTORS;

/** Takes the place of a detector in the finding of a text that is too expensive to screen. */
export const BUDGET = "budget";

/** What a detector finds, in words: "an email address". A policy's own word is returned unchanged. */
export function detectorWords(name: string): string {
  if (name === BUDGET) return "more suspicious places than can be checked";
  return Object.hasOwn(DETECTORS, name) ? DETECTORS[name as DetectorName].words : name;
}
