/**
 * Identifiers whose form says what they are, without a label: letters in fixed places, separators in
 * fixed places, a date inside, check digits. A bare run of digits is never enough.
 */
import { validate as validCuit } from "stdnum/lib/cjs/ar/cuit";
import { validate as validInsz } from "stdnum/lib/cjs/be/insz";
import { validate as validCpf } from "stdnum/lib/cjs/br/cpf";
import { validate as validAhv } from "stdnum/lib/cjs/ch/ssn";
import { validate as validRun } from "stdnum/lib/cjs/cl/run";
import { validate as validRic } from "stdnum/lib/cjs/cn/ric";
import { validate as validBirthNumber } from "stdnum/lib/cjs/cz/rc";
import { validate as validCpr } from "stdnum/lib/cjs/dk/cpr";
import { validate as validDni } from "stdnum/lib/cjs/es/dni";
import { validate as validNie } from "stdnum/lib/cjs/es/nie";
import { validate as validHetu } from "stdnum/lib/cjs/fi/hetu";
import { validate as validNir } from "stdnum/lib/cjs/fr/nir";
import { validate as validHkid } from "stdnum/lib/cjs/hk/hkid";
import { validate as validAadhaar } from "stdnum/lib/cjs/in/aadhaar";
import { validate as validCodiceFiscale } from "stdnum/lib/cjs/it/codicefiscale";
import { validate as validRrn } from "stdnum/lib/cjs/kr/rrn";
import { validate as validCurp } from "stdnum/lib/cjs/mx/curp";
import { validate as validNric } from "stdnum/lib/cjs/my/nric";
import { validate as validFodselsnummer } from "stdnum/lib/cjs/no/fodselsnummer";
import { validate as validPersonnummer } from "stdnum/lib/cjs/se/personnummer";
import { validate as validThaiId } from "stdnum/lib/cjs/th/idnr";
import type { DetectorName } from "../detectors.ts";

/** A form that suffices alone. Patterns are sticky and bounded. */
export interface LoneForm {
  detector: DetectorName;
  countries: string;
  pattern: RegExp;
  check?: (value: string) => boolean;
}

/** A form of digits in groups: how it begins. */
export interface SeparatedForm extends LoneForm {
  /** Length of the first run of digits and the separator behind it, or the length of a run that stands alone. */
  leads: readonly string[];
}

const by = (validate: (value: string) => { isValid: boolean }) => (value: string) => validate(value).isValid;

/** Forms that begin with a digit and hold separators. */
export const SEPARATED_FORMS: readonly SeparatedForm[] = [
  {
    detector: "us_ssn",
    countries: "US",
    leads: ["3-"],
    pattern: /(?!000|666|9\d\d|078-05-1120|219-09-9999)\d{3}-(?!00)\d{2}-(?!0000)\d{4}/y,
  },
  {
    detector: "us_itin",
    countries: "US",
    leads: ["3-"],
    pattern: /9\d{2}-(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])-\d{4}/y,
  },
  {
    detector: "national_id",
    countries: "BR",
    leads: ["3."],
    pattern: /\d{3}\.\d{3}\.\d{3}-\d{2}/y,
    check: by(validCpf),
  },
  {
    detector: "national_id",
    countries: "CH",
    leads: ["3."],
    pattern: /756\.\d{4}\.\d{4}\.\d{2}/y,
    check: by(validAhv),
  },
  { detector: "national_id", countries: "PK", leads: ["5-"], pattern: /[1-7]\d{4}-\d{7}-\d/y },
  {
    detector: "national_id",
    countries: "BE",
    leads: ["2."],
    pattern: /\d{2}\.\d{2}\.\d{2}[- ]\d{3}[.-]?\d{2}/y,
    check: by(validInsz),
  },
  {
    detector: "national_id",
    countries: "TH",
    leads: ["1-"],
    pattern: /[1-8]-\d{4}-\d{5}-\d{2}-\d/y,
    check: by(validThaiId),
  },
  {
    detector: "national_id",
    countries: "KR",
    leads: ["6-"],
    pattern: /\d{6}-[1-8]\d{6}/y,
    check: by(validRrn),
  },
  {
    detector: "national_id",
    countries: "MY",
    leads: ["6-"],
    pattern: /\d{6}-\d{2}-\d{4}/y,
    check: by(validNric),
  },
  {
    detector: "national_id",
    countries: "SE",
    leads: ["6-", "6+", "8-", "8+"],
    pattern: /(?:19|20)?\d{6}[-+]\d{4}/y,
    check: by(validPersonnummer),
  },
  { detector: "national_id", countries: "DK", leads: ["6-"], pattern: /\d{6}-\d{4}/y, check: by(validCpr) },
  {
    detector: "national_id",
    countries: "NO",
    leads: ["6-", "6 "],
    pattern: /\d{6}[ -]\d{5}/y,
    check: by(validFodselsnummer),
  },
  {
    detector: "national_id",
    countries: "FI",
    leads: ["6-", "6+"],
    pattern: /[0-3]\d[01]\d{3}[-+]\d{3}[0-9A-FHJ-NPR-Y]/y,
    check: by(validHetu),
  },
  {
    detector: "national_id",
    countries: "ES",
    leads: ["8-"],
    pattern: /\d{8}-[A-HJ-NP-TV-Z]/y,
    check: by(validDni),
  },
  {
    detector: "national_id",
    countries: "CZ SK",
    leads: ["6/"],
    pattern: /\d{6}\/\d{3,4}/y,
    check: by(validBirthNumber),
  },
  {
    detector: "national_id",
    countries: "FR",
    leads: ["1 ", "15"],
    pattern: /[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}/y,
    check: by(validNir),
  },
  {
    detector: "national_id",
    countries: "CL",
    leads: ["1.", "2."],
    pattern: /\d{1,2}\.\d{3}\.\d{3}-[\dKk]/y,
    check: by(validRun),
  },
  {
    detector: "national_id",
    countries: "IN",
    leads: ["4 ", "4-"],
    pattern: /[2-9]\d{3}[ -]\d{4}[ -]\d{4}(?![ -]?\d)/y,
    check: by(validAadhaar),
  },
  {
    detector: "tax_id",
    countries: "AR",
    leads: ["2-"],
    pattern: /(?:20|2[347]|30|3[34])-\d{8}-\d/y,
    check: by(validCuit),
  },
  {
    detector: "driver_license",
    countries: "KR",
    leads: ["2-"],
    pattern: /(?:1[1-9]|2[0-68])-\d{2}-\d{6}-\d{2}/y,
  },
  {
    detector: "medical_id",
    countries: "AU",
    leads: ["4 "],
    pattern: /[2-6]\d{3} \d{5} \d(?!\d)/y,
    check: validMedicare,
  },
  {
    detector: "national_id",
    countries: "CN",
    leads: ["18"],
    pattern: /[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]/y,
    check: by(validRic),
  },
];

const byLead = new Map<number, SeparatedForm[]>();
for (const form of SEPARATED_FORMS) {
  for (const lead of form.leads) {
    const key = leadKey(Number.parseInt(lead, 10), /\D$/.test(lead) ? lead.charCodeAt(lead.length - 1) : 0);
    byLead.set(key, [...(byLead.get(key) ?? []), form]);
  }
}

function leadKey(length: number, separator: number): number {
  return length * 128 + separator;
}

/** The forms that begin with a run of `length` digits and then `separator` (a code unit; 0 when the run stands alone). */
export function formsFor(length: number, separator: number): readonly SeparatedForm[] | undefined {
  return separator < 128 ? byLead.get(leadKey(length, separator)) : undefined;
}

/** Forms of letters and digits in one token of eight characters or more. */
export const TOKEN_FORMS: readonly LoneForm[] = [
  {
    detector: "national_id",
    countries: "FI",
    pattern: /[0-3]\d[01]\d{3}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]/y,
    check: (value) => validHetu(value).isValid || validDate(value),
  },
  {
    detector: "national_id",
    countries: "MX",
    pattern:
      /[A-Z][AEIOUX][A-Z]{2}\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[HMX][A-Z]{2}[B-DF-HJ-NP-TV-Z]{3}[0-9A-Z]\d/iy,
  },
  {
    detector: "national_id",
    countries: "MX",
    pattern: /[A-Z]{4}\d{6}[HM][A-Z]{5}[0-9A-Z]{2}/y,
    check: (value) => validCurp(value).isValid || /\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])/.test(value),
  },
  {
    detector: "national_id",
    countries: "IT",
    pattern: /[A-Z]{6}[\dLMNP-V]{2}[A-EHLMPRST][\dLMNP-V]{2}[A-Z][\dLMNP-V]{3}[A-Z]/iy,
    check: by(validCodiceFiscale),
  },
  { detector: "national_id", countries: "ES", pattern: /\d{8}-?[A-HJ-NP-TV-Z]/y, check: by(validDni) },
  { detector: "national_id", countries: "ES", pattern: /[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]/y, check: by(validNie) },
  {
    detector: "national_id",
    countries: "UK",
    pattern: /(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]/y,
  },
  { detector: "national_id", countries: "TW", pattern: /[A-Z][12]\d{8}/y, check: validTaiwanId },
  { detector: "national_id", countries: "SG", pattern: /[STFGM]\d{7}[A-Z]/y, check: validSingaporeId },
  {
    detector: "national_id",
    countries: "CN",
    pattern: /[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[Xx]/y,
    check: by(validRic),
  },
  { detector: "national_id", countries: "HK", pattern: /[A-Z]{1,2}\d{6}\([0-9A]\)/y, check: by(validHkid) },
  { detector: "national_id", countries: "IN", pattern: /[A-Z]{3}\d{7}(?=.{0,20}EPIC)/y },
  { detector: "tax_id", countries: "IN", pattern: /[A-Z]{3}[ABCFGHLJPT][A-Z]\d{4}[A-Z]/y },
  {
    detector: "driver_license",
    countries: "UK",
    pattern:
      /[A-Z]{1,5}9{0,4}\d(?:0[1-9]|1[0-2]|5[1-9]|6[0-2])(?:0[1-9]|[12]\d|3[01])\d[A-Z][A-Z9][A-Z0-9]{3}/y,
    check: (value) => value.length === 16,
  },
  {
    detector: "medical_id",
    countries: "US",
    pattern:
      /[1-9][AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y]{2}\d{2}/y,
  },
  {
    detector: "medical_id",
    countries: "US",
    pattern:
      /[1-9][ac-hjkmnp-rt-y][0-9ac-hjkmnp-rt-y]\d-[ac-hjkmnp-rt-y][0-9ac-hjkmnp-rt-y]\d-[ac-hjkmnp-rt-y]{2}\d{2}/y,
  },
  { detector: "medical_id", countries: "DE", pattern: /[A-Z]\d{9}/y, check: validKvnr },
  { detector: "vehicle_id", countries: "all", pattern: /[A-HJ-NPR-Z0-9]{17}/y, check: validVin },
  {
    detector: "vehicle_id",
    countries: "IN",
    pattern:
      /(?:A[NPRS]|B[HR]|C[GH]|D[DLN]|G[AJ]|H[PR]|J[HK]|K[AL]|L[AD]|M[HLNPZ]|N[L]|O[DR]|P[BY]|R[J]|S[K]|T[NRS]|U[AKP]|W[B])[ -]?\d{1,2}[ -]?[A-Z]{1,3}[ -]?\d{4}/y,
  },
  { detector: "vehicle_id", countries: "UK", pattern: /[A-HJ-PR-Y][A-Y](?:0[2-9]|[1-7]\d) ?[A-HJ-PR-Z]{3}/y },
];

function validDate(value: string): boolean {
  const day = Number(value.slice(0, 2));
  const month = Number(value.slice(2, 4));
  return day >= 1 && day <= 31 && month >= 1 && month <= 12;
}

/** Weights 1, 3, 7, 9 over the first eight digits, modulo 10 (Services Australia). */
function validMedicare(value: string): boolean {
  const digits = value.replace(/ /g, "");
  const sum = [1, 3, 7, 9, 1, 3, 7, 9].reduce((total, weight, i) => total + weight * Number(digits[i]), 0);
  return sum % 10 === Number(digits[8]);
}

const TAIWAN_LETTERS = "ABCDEFGHJKLMNPQRSTUVXYWZIO";

/** The letter stands for 10 to 35; weights 1, 9, 8 … 1, 1 (Ministry of the Interior). */
function validTaiwanId(value: string): boolean {
  const code = TAIWAN_LETTERS.indexOf(value[0] as string) + 10;
  const digits = `${code}${value.slice(1)}`;
  const weights = [1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1];
  return weights.reduce((sum, weight, i) => sum + weight * Number(digits[i]), 0) % 10 === 0;
}

const SINGAPORE_LETTERS: Readonly<Record<string, string>> = {
  S: "JZIHGFEDCBA",
  T: "JZIHGFEDCBA",
  F: "XWUTRQPNMLK",
  G: "XWUTRQPNMLK",
  M: "KLJNPQRTUWX",
};

/** Weights 2, 7, 6, 5, 4, 3, 2 modulo 11, the letter by series. */
function validSingaporeId(value: string): boolean {
  const series = value[0] as string;
  const weights = [2, 7, 6, 5, 4, 3, 2];
  let sum = weights.reduce((total, weight, i) => total + weight * Number(value[i + 1]), 0);
  if (series === "T" || series === "G") sum += 4;
  if (series === "M") sum += 3;
  const letter = (SINGAPORE_LETTERS[series] as string)[series === "M" ? 10 - (sum % 11) : sum % 11];
  return letter === value[8];
}

/** The letter as two digits, then Luhn with weights 1, 2 from the left (section 290 SGB V). */
function validKvnr(value: string): boolean {
  const digits = `${String(value.charCodeAt(0) - 64).padStart(2, "0")}${value.slice(1, 9)}`;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const product = Number(digits[i]) * (i % 2 === 0 ? 1 : 2);
    sum += product > 9 ? product - 9 : product;
  }
  return sum % 10 === Number(value[9]);
}

const VIN_VALUES = "0123456789.ABCDEFGH..JKLMN.P.R..STUVWXYZ";
const VIN_WEIGHTS = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

/** ISO 3779 with the check digit of 49 CFR 565. */
function validVin(value: string): boolean {
  if (!/[A-Z]/.test(value) || !/\d{4}$/.test(value) || !/^[1-9A-Z]/.test(value)) return false;
  let sum = 0;
  for (let i = 0; i < 17; i++)
    sum += (VIN_VALUES.indexOf(value[i] as string) % 10) * (VIN_WEIGHTS[i] as number);
  const check = sum % 11;
  return value[8] === (check === 10 ? "X" : String(check));
}
