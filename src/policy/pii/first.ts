/** First detectors of personal data: every expression is bounded, so the scan is linear. */
import { countrySpecs, isValidIBAN } from "ibantools";
import { findPhoneNumbersInText } from "libphonenumber-js/max";
import { luhn } from "../checksums.ts";
import { type Hit, piiHit } from "../finding.ts";

const EMAIL =
  /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+'-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}(?![\p{L}\p{N}])/gu;
const CARD = /(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]\d|\d)/g;
const IBAN = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ ]?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])/g;
const SSN = /(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])/g;
/** Reserved for documentation (RFC 2606). */
const EXAMPLE_DOMAIN = /@(?:[\w-]+\.)*example\.(?:com|net|org)$|\.(?:example|invalid|test|localhost)$/i;
/** Used in advertisements by the Social Security Administration, never issued. */
const VOID_SSN = new Set(["078-05-1120", "219-09-9999"]);

/** Finds emails, payment cards, IBANs, US social security numbers and international phone numbers. */
export function findPii(text: string, _context: string): Hit[] {
  const hits: Hit[] = [];
  if (text.includes("@")) {
    for (const match of text.matchAll(EMAIL)) {
      if (!EXAMPLE_DOMAIN.test(match[0]))
        hits.push(piiHit("email", match.index, match.index + match[0].length));
    }
  }
  for (const match of text.matchAll(CARD)) {
    const digits = match[0].replace(/[ -]/g, "");
    if (/^(?:4|5[1-5]|2[2-7]|3[47]|3[0689]|35|6)/.test(digits) && luhn(digits) && !/^(\d)\1+$/.test(digits)) {
      hits.push(piiHit("credit_card", match.index, match.index + match[0].length));
    }
  }
  for (const match of text.matchAll(IBAN)) {
    const end = ibanEnd(match[0]);
    if (end > 0) hits.push(piiHit("iban", match.index, match.index + end));
  }
  for (const match of text.matchAll(SSN)) {
    if (!VOID_SSN.has(match[0])) hits.push(piiHit("us_ssn", match.index, match.index + match[0].length));
  }
  if (/\+[ (]?\d/.test(text)) {
    for (const found of findPhoneNumbersInText(text)) {
      if (text[found.startsAt] === "+" && found.number.isValid()) {
        hits.push(piiHit("phone", found.startsAt, found.endsAt));
      }
    }
  }
  return hits;
}

/** Where the IBAN that `candidate` begins with ends, or 0. The country says how long it is; spaces do not count. */
function ibanEnd(candidate: string): number {
  const length = countrySpecs[candidate.slice(0, 2).toUpperCase()]?.chars ?? 0;
  let compact = "";
  for (let i = 0; i < candidate.length; i++) {
    if (candidate[i] !== " ") compact += candidate[i]?.toUpperCase();
    if (compact.length === length) {
      const whole = i + 1 === candidate.length || candidate[i + 1] === " ";
      return whole && isValidIBAN(compact) ? i + 1 : 0;
    }
  }
  return 0;
}
