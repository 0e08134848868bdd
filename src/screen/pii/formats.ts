/**
 * Identifiers that are recognized by their form, without a label: letters or separators in fixed places, a date inside,
 * check digits. A bare run of digits is never enough.
 */
import type { DetectorName } from "../detectors.ts";
import forms from "../words/forms.txt" with { type: "text" };
import { columnsOf, listsOf, stickyOf } from "../words/lists.ts";
import { luhnSum } from "./number.ts";
import * as validators from "./validators.ts";

/** A form that suffices alone. Patterns are sticky and bounded. */
export interface LoneForm {
  detector: DetectorName;
  countries: string;
  pattern: RegExp;
  check?: (value: string) => boolean;
}

/** A form of digits in groups: how it begins. */
interface SeparatedForm extends LoneForm {
  /** The length of the first run of digits with the separator after it, or the length of a run without one. */
  leads: readonly string[];
}

type Validity = (value: string) => boolean;
const VALIDATORS: Readonly<Record<string, (value: string) => { isValid: boolean }>> = { ...validators };

/** @throws {Error} when there is no validator of this name */
const by = (name: string): Validity => {
  const validate = VALIDATORS[name];
  if (validate === undefined) throw new Error(`no check of a form: ${name}`);
  return (value) => validate(value).isValid;
};

/** Checks that no validator makes in the form needed here, by their names in words/forms.txt. */
const CHECKS: Readonly<Record<string, Validity>> = {
  // With no letters beyond F, it is a number in hexadecimal.
  "it.codicefiscale": (value) => !/^[0-9a-f]+$/i.test(value) && by("it.codicefiscale")(value),
  "hetu or date": (value) => by("fi.hetu")(value) || validDate(value),
  "curp or date": (value) => by("mx.curp")(value) || /\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])/.test(value),
  "16 characters": (value) => value.length === 16,
  medicare: validMedicare,
  aadhaar: (value) => by("in.aadhaar")(value.replaceAll(":", "")),
  snils: validSnils,
  "sg.nric": validSingaporeId,
  // In lower case with no letters beyond f, it is a piece of a digest.
  nino: (value) => !/^[0-9a-f]+$/.test(value),
  kvnr: validKvnr,
  vin: validVin,
};

function formOf(detector: string, countries: string, check: string, pattern: string): LoneForm {
  const form = { detector: detector as DetectorName, countries, pattern: stickyOf(pattern) };
  return check === "-" ? form : { ...form, check: CHECKS[check] ?? by(check) };
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
    const length = Number.parseInt(lead, 10);
    const separator = lead.charCodeAt(String(length).length) || 0;
    byLead.getOrInsertComputed(leadKey(length, separator), () => []).push(form);
  }
}

function leadKey(length: number, separator: number): number {
  return length * 128 + separator;
}

/**
 * The forms that begin with a run of `length` digits and then `separator` (a code unit; 0 when the run stands alone).
 */
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

/** The sum of the weighted digits of `text`. */
function weighted(text: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, i) => sum + weight * Number(text[i]), 0);
}

/** Weights 1, 3, 7, 9 over the first eight digits, modulo 10 (Services Australia). */
function validMedicare(value: string): boolean {
  const digits = value.replace(/ /g, "");
  return weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === Number(digits[8]);
}

/** Weights 9 to 1 modulo 101, where 100 counts as 0. */
function validSnils(value: string): boolean {
  const digits = value.replace(/\D/g, "");
  return (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101) % 100 === Number(digits.slice(9));
}

/** For each series, the letters by the remainder, and the number that is added to the sum. */
const SINGAPORE: Readonly<Record<string, [letters: string, added: number]>> = {
  S: ["JZIHGFEDCBA", 0],
  T: ["JZIHGFEDCBA", 4],
  F: ["XWUTRQPNMLK", 0],
  G: ["XWUTRQPNMLK", 4],
  M: ["XWUTRQPNJLK", 3],
};

/** Weights 2, 7, 6, 5, 4, 3, 2 modulo 11, the letter by series. */
function validSingaporeId(value: string): boolean {
  const [letters, added] = SINGAPORE[value[0] as string] as [string, number];
  return letters[(weighted(value.slice(1), [2, 7, 6, 5, 4, 3, 2]) + added) % 11] === value[8];
}

/** The letter as two digits, then Luhn's sum with weights 1, 2 from the left (section 290 SGB V). */
function validKvnr(value: string): boolean {
  const letter = String(value.charCodeAt(0) - 64).padStart(2, "0");
  return luhnSum(`${letter}${value.slice(1, 9)}0`) % 10 === Number(value[9]);
}

const VIN_VALUES = "0123456789.ABCDEFGH..JKLMN.P.R..STUVWXYZ";
const VIN_WEIGHTS = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

/** ISO 3779 with the check digit of 49 CFR 565. */
function validVin(value: string): boolean {
  if (!/[A-Z]/.test(value) || !/\d{4}$/.test(value) || !/^[1-9A-Z]/.test(value)) return false;
  const digits = value.replace(/[A-Z]/g, (letter) => String(VIN_VALUES.indexOf(letter) % 10));
  return value[8] === "0123456789X"[weighted(digits, VIN_WEIGHTS) % 11];
}
