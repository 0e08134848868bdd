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
import forms from "../words/forms.txt" with { type: "text" };
import { columnsOf, listsOf, stickyOf } from "../words/lists.ts";

/** A form that suffices alone. Patterns are sticky and bounded. */
export interface LoneForm {
  detector: DetectorName;
  countries: string;
  pattern: RegExp;
  check?: (value: string) => boolean;
}

/** A form of digits in groups: how it begins. */
export interface SeparatedForm extends LoneForm {
  /** The length of the first run of digits with the separator after it, or the length of a run without one. */
  leads: readonly string[];
}

const by = (validate: (value: string) => { isValid: boolean }) => (value: string) => validate(value).isValid;

/** What the check digits and dates of forms are checked with, by the names in words/forms.txt. */
const CHECKS: Readonly<Record<string, (value: string) => boolean>> = {
  "ar.cuit": by(validCuit),
  "be.insz": by(validInsz),
  "br.cpf": by(validCpf),
  "ch.ssn": by(validAhv),
  "cl.run": by(validRun),
  "cn.ric": by(validRic),
  "cz.rc": by(validBirthNumber),
  "dk.cpr": by(validCpr),
  "es.dni": by(validDni),
  "es.nie": by(validNie),
  "fi.hetu": by(validHetu),
  "fr.nir": by(validNir),
  "hk.hkid": by(validHkid),
  "in.aadhaar": by(validAadhaar),
  // Letters up to F alone are a number in hex.
  "it.codicefiscale": (value) => !/^[0-9a-f]+$/i.test(value) && validCodiceFiscale(value).isValid,
  "kr.rrn": by(validRrn),
  "my.nric": by(validNric),
  "no.fodselsnummer": by(validFodselsnummer),
  "se.personnummer": by(validPersonnummer),
  "th.idnr": by(validThaiId),
  "hetu or date": (value) => validHetu(value).isValid || validDate(value),
  "curp or date": (value) => validCurp(value).isValid || /\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])/.test(value),
  "16 characters": (value) => value.length === 16,
  medicare: validMedicare,
  "tw.id": validTaiwanId,
  "sg.nric": validSingaporeId,
  kvnr: validKvnr,
  vin: validVin,
};

function formOf(detector: string, countries: string, check: string, pattern: string): LoneForm {
  if (check !== "-" && CHECKS[check] === undefined) throw new Error(`no check of a form: ${check}`);
  return {
    detector: detector as DetectorName,
    countries,
    pattern: stickyOf(pattern),
    ...(check === "-" ? {} : { check: CHECKS[check] as (value: string) => boolean }),
  };
}

const { separated, tokens } = listsOf(forms, ["separated", "tokens"]);

/** Forms that begin with a digit and hold separators. */
export const SEPARATED_FORMS: readonly SeparatedForm[] = separated.map((row) => {
  const [detector, countries, leads, check, pattern] = columnsOf(row) as [string, string, string, string, string];
  return { ...formOf(detector, countries, check, pattern), leads: leads.replaceAll("_", " ").split(",") };
});

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
export const TOKEN_FORMS: readonly LoneForm[] = tokens.map((row) =>
  formOf(...(columnsOf(row) as [string, string, string, string])),
);

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
  for (let i = 0; i < 17; i++) sum += (VIN_VALUES.indexOf(value[i] as string) % 10) * (VIN_WEIGHTS[i] as number);
  const check = sum % 11;
  return value[8] === (check === 10 ? "X" : String(check));
}
