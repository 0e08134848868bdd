/** The policies that look at content. */
export type ScreeningPolicy = "block_pii" | "block_secrets";

/** Labels of block_pii. Tier 1 names a person or an account; tier 2 a device, an address on a network, a wallet. */
export const PII_TIERS = {
  email: 1,
  phone: 1,
  credit_card: 1,
  iban: 1,
  bank_account: 1,
  us_ssn: 1,
  us_itin: 1,
  passport: 1,
  driver_license: 1,
  national_id: 1,
  tax_id: 1,
  medical_id: 1,
  date_of_birth: 1,
  postal_address: 1,
  ip_address: 2,
  mac_address: 2,
  crypto_wallet: 2,
  vehicle_id: 2,
  device_id: 2,
} as const;

/** Labels of block_secrets. */
export const SECRET_DETECTORS = [
  "provider_token",
  "keyed_token",
  "generic_credential",
  "auth_header",
  "connection_string",
  "webhook_url",
  "jwt",
  "private_key",
] as const;

export type PiiDetector = keyof typeof PII_TIERS;
export type SecretDetector = (typeof SECRET_DETECTORS)[number];

/** What one detector found in one text. Offsets are UTF-16 code units, `end` exclusive. */
export interface Hit {
  policy: ScreeningPolicy;
  detector: PiiDetector | SecretDetector | "budget";
  start: number;
  end: number;
}

/** A hit and the field of the write that it is in. Never holds the text itself. */
export interface Finding {
  policy: ScreeningPolicy;
  detector: string;
  /** Only for block_pii: 1 or 2. */
  tier?: 1 | 2;
  /** `key`, `value` or a path `metadata.a.b`; a name that itself matched is written `*`. */
  field: string;
  start: number;
  end: number;
}

/** A personal-data hit. */
export function piiHit(detector: PiiDetector, start: number, end: number): Hit {
  return { policy: "block_pii", detector, start, end };
}

/** A secret hit. */
export function secretHit(detector: SecretDetector, start: number, end: number): Hit {
  return { policy: "block_secrets", detector, start, end };
}
