/** What each anchor of the personal-data side leads to. */
import { type Anchor, asWord, type Check, continues } from "../anchor.ts";
import {
  joinedStreet,
  labelledAddress,
  militaryAddress,
  prefixedStreet,
  streetAddress,
  unitAddress,
} from "./address.ts";
import {
  ADDRESS_LABELS,
  CLEAR_PREFIXES,
  STREET_ENDINGS,
  STREET_PREFIXES,
  STREET_WORDS,
  UNIT_WORDS,
  WEAK_STREET_WORDS,
} from "./address-words.ts";
import { BIRTH_WORDS, dateOfBirth } from "./birth.ts";
import { email } from "./email.ts";
import { labelledValue } from "./labelled.ts";
import { LABELLED_FORMS } from "./labels.ts";
import { internationalPhone, labelledPhone, PHONE_WORDS } from "./phone.ts";
import { bech32Address } from "./wallet.ts";

/** Every anchor of the personal-data side. */
export function piiAnchors(): Anchor[] {
  const anchors: Anchor[] = [];
  const add = (word: string, check: Check) => anchors.push({ word, policy: "block_pii", check });
  for (const form of LABELLED_FORMS) {
    const check = labelledValue(form);
    for (const word of form.words) addSpellings(word, (spelling) => add(spelling, asWord(spelling, check)));
  }
  for (const word of PHONE_WORDS)
    addSpellings(word, (spelling) => add(spelling, asWord(spelling, labelledPhone)));
  for (const word of BIRTH_WORDS)
    addSpellings(word, (spelling) => add(spelling, asWord(spelling, dateOfBirth)));
  addAddresses(add);
  add("@", (text, start) => email(text, start));
  add("+", (text, start) => internationalPhone(text, start));
  for (const prefix of ["bc1", "tb1", "ltc1"]) add(prefix, (text, start) => bech32Address(text, start));
  return anchors;
}

/** A label of several words is also written as one: "date of birth", "dateOfBirth". */
export function addSpellings(word: string, add: (spelling: string) => void): void {
  add(word);
  const spellings = new Set([word.replace(/'/g, " "), word.replace(/'/g, ""), word.replace(/[ '.-]/g, "")]);
  for (const spelling of spellings) if (spelling !== word) add(spelling);
}

/** Units that hardly mean anything else; the others need a town beside them. */
const STRONG_UNITS: ReadonlySet<string> = new Set([
  "suite",
  "ste",
  "apt",
  "apartment",
  "apto",
  "appartamento",
  "po box",
  "p.o. box",
  "p. o. box",
  "post office box",
  "postfach",
  "lgh",
  "leil",
  "apartamento",
  "appartement",
]);
/** Labels that other things have too, such as a network's or a program's address. */
const UNCLEAR_LABELS: ReadonlySet<string> = new Set([
  "address",
  "addr",
  "street",
  "address of",
  "come to",
  "located at",
  "moved to",
  "lived in",
  "live in",
  "lives in",
  "stay at",
  "staying at",
  "meet you at",
  "pick up at",
  "deliver to",
  "delivered to",
  "send it to",
  "ship to",
  "adresse",
  "adres",
  "adress",
  "adresa",
  "cím",
  "new address",
  "old address",
  "full address",
  "current address",
]);

function addAddresses(add: (word: string, check: Check) => void): void {
  for (const word of STREET_WORDS) add(word, asWord(word, streetAddress(WEAK_STREET_WORDS.has(word))));
  for (const word of STREET_PREFIXES) add(word, asWord(word, prefixedStreet(CLEAR_PREFIXES.has(word))));
  for (const word of STREET_ENDINGS)
    add(word, (text, start, end) => (continues(text, end) ? null : joinedStreet(text, start, end)));
  for (const word of UNIT_WORDS) add(word, asWord(word, unitAddress(STRONG_UNITS.has(word))));
  for (const word of ADDRESS_LABELS) {
    addSpellings(word, (spelling) =>
      add(spelling, asWord(spelling, labelledAddress(!UNCLEAR_LABELS.has(word)))),
    );
  }
  for (const word of ["apo", "fpo", "dpo"]) add(word, asWord(word, militaryAddress));
}
