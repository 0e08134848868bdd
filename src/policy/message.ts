/** The sentence a person reads when a write is blocked: kind and place in words, never the text. */
import type { Finding } from "./finding.ts";

/** How many findings the sentence names before it says how many more there are. */
const NAMED_FINDINGS = 5;

const WORDS: Readonly<Record<string, string>> = {
  email: "an email address",
  phone: "a phone number",
  credit_card: "a payment card number",
  iban: "an IBAN",
  bank_account: "a bank account number",
  us_ssn: "a US social security number",
  us_itin: "a US individual taxpayer number",
  passport: "a passport number",
  driver_license: "a driving licence number",
  national_id: "a national identity number",
  tax_id: "a tax number",
  medical_id: "a health insurance or patient number",
  date_of_birth: "a date of birth",
  postal_address: "a postal address",
  ip_address: "a public IP address",
  mac_address: "a MAC address",
  crypto_wallet: "a cryptocurrency wallet address",
  vehicle_id: "a vehicle registration or identification number",
  device_id: "a device identifier",
  provider_token: "a provider's access token",
  keyed_token: "a key or token of a named service",
  generic_credential: "a password or other credential",
  auth_header: "an authorization header",
  connection_string: "a connection string with a password",
  webhook_url: "a webhook address that acts as a secret",
  jwt: "a JSON Web Token",
  private_key: "a private key",
  budget: "more suspicious places than can be checked",
};

const POLICY_WORDS = { block_pii: "personal data", block_secrets: "secrets" } as const;

/** What a detector finds, in words: "an email address". */
export function words(detector: string): string {
  return WORDS[detector] ?? detector;
}

/** Says what was found and where, and what to do. */
export function describe(findings: readonly Finding[]): string {
  const policies = [...new Set(findings.map((one) => one.policy))];
  const what = policies.map((policy) => POLICY_WORDS[policy]).join(" and ");
  const kinds = [...new Set(findings.map((one) => `${words(one.detector)} in ${place(one.field)}`))];
  const named = kinds.slice(0, NAMED_FINDINGS).join(", ");
  const more = kinds.length > NAMED_FINDINGS ? ` and ${kinds.length - NAMED_FINDINGS} more` : "";
  return `Blocked, nothing was stored: the agent's policy does not allow ${what}. Found ${named}${more}. Remove it and write again.`;
}

function place(field: string): string {
  if (field === "key" || field === "value") return `the ${field}`;
  return field;
}
