/** What each anchor of the personal-data side leads to. */
import { type Anchor, type Check, asWord } from "../anchor.ts";
import { BIRTH_WORDS, dateOfBirth } from "./birth.ts";
import { email } from "./email.ts";
import { labelledValue } from "./labelled.ts";
import { LABELLED_FORMS } from "./labels.ts";
import { PHONE_WORDS, internationalPhone, labelledPhone } from "./phone.ts";
import { bech32Address } from "./wallet.ts";

/** Every anchor of the personal-data side. */
export function piiAnchors(): Anchor[] {
  const anchors: Anchor[] = [];
  const add = (word: string, check: Check) => anchors.push({ word, policy: "block_pii", check });
  for (const form of LABELLED_FORMS) {
    const check = labelledValue(form);
    for (const word of form.words) addSpellings(word, (spelling) => add(spelling, asWord(spelling, check)));
  }
  for (const word of PHONE_WORDS) addSpellings(word, (spelling) => add(spelling, asWord(spelling, labelledPhone)));
  for (const word of BIRTH_WORDS) addSpellings(word, (spelling) => add(spelling, asWord(spelling, dateOfBirth)));
  add("@", (text, start) => email(text, start));
  add("+", (text, start) => internationalPhone(text, start));
  for (const prefix of ["bc1", "tb1", "ltc1"]) add(prefix, (text, start) => bech32Address(text, start));
  return anchors;
}

/** A label of several words is also written as one: "date of birth", "dateOfBirth". */
export function addSpellings(word: string, add: (spelling: string) => void): void {
  add(word);
  const joined = word.replace(/[ '.-]/g, "");
  if (joined !== word) add(joined);
}
