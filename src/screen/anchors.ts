/**
 * The anchors of each detector: words that the automaton finds, each with a check of the text around it. A detector that
 * only reads tokens by their form (`readsTokens`) has none; scan.ts calls it.
 */

import { type Anchor, asName, asWord, spellings } from "./anchor.ts";
import type { Check } from "./check.ts";
import { DETECTORS, type DetectorName } from "./detectors.ts";
import { orInList } from "./list/labelled-list.ts";
import { addressAnchors } from "./pii/address.ts";
import { born, dateOfBirth } from "./pii/birth.ts";
import { segmentAnchors } from "./pii/edi.ts";
import { email, paymentHandle } from "./pii/email.ts";
import { labelledForms, labelledValue, wordsUnder } from "./pii/labelled.ts";
import { machineReadable } from "./pii/machine-readable.ts";
import { internationalPhone, labelledPhone } from "./pii/phone.ts";
import { bracketedAddress, spokenAddress, spokenNumber } from "./pii/said.ts";
import { BECH32_PREFIXES, bech32Address, CASH_PREFIXES, cashAddress, labelledWallet } from "./pii/wallet.ts";
import { type PolicyName, screeningPolicies } from "./policies.ts";
import {
  accountSecret,
  lockedSecret,
  mailAndPassword,
  resetSecret,
  slashedSecret,
  typedSecret,
  unlockingSecret,
} from "./secrets/account.ts";
import { jsonWebToken, privateKeyBlock, puttyKey, telegramToken } from "./secrets/blocks.ts";
import { commandAnchors } from "./secrets/command.ts";
import { bareKey, manifestSecret, registryAuth } from "./secrets/encoded-member.ts";
import { namedSession, passwordHash, pgpassLine, sessionCookie, stringData } from "./secrets/file.ts";
import { authorizationHeader, passwordOption, schemeCredential, userOption } from "./secrets/header.ts";
import { announcedSecret } from "./secrets/keyed.ts";
import { recoveryCodes, seedPhrase } from "./secrets/phrase.ts";
import { doorCode, lockCombination, namedDoorCode, openedWith, openingNumber, pin } from "./secrets/pin.ts";
import { SECRET_WORDS } from "./secrets/secret-words.ts";
import { cardCode, oneUseCode } from "./secrets/sent-code.ts";
import { serviceKey } from "./secrets/service.ts";
import { infixAnchors, tokenAnchors, webhookAnchors } from "./secrets/token-format.ts";
import { connectionString } from "./secrets/url.ts";
import { CLEAR_DIGITS } from "./words/digits.ts";
import { wordsOf } from "./words/lists.ts";
import personWords from "./words/persons.txt" with { type: "text" };

/** Findings at the same position are reported in this order. */
const ANCHORS: Readonly<Record<DetectorName, () => Anchor[]>> = {
  us_ssn: () => [...labelled("us_ssn"), ...segmentAnchors("us_ssn")],
  us_itin: () => labelled("us_itin"),
  passport: () => [
    ...labelled("passport"),
    ...["p<", "i<", "v<", "a<", "c<"].map((word) => ({ word, check: machineReadable })),
  ],
  driver_license: () => labelled("driver_license"),
  national_id: () => labelled("national_id"),
  tax_id: () => labelled("tax_id"),
  medical_id: () => labelled("medical_id"),
  bank_account: () => [
    ...labelled("bank_account"),
    ...wordsUnder("payment handles").map((word) => ({ word, check: paymentHandle })),
  ],
  credit_card: () => labelled("credit_card"),
  vehicle_id: () => labelled("vehicle_id"),
  device_id: () => labelled("device_id"),
  phone: () => [
    ...labels(worded(personLists().phones, labelledPhone)),
    { word: "+", check: internationalPhone },
    ...worded(CLEAR_DIGITS, spokenNumber),
  ],
  date_of_birth: () => {
    const { births, birthdays, born: verbs } = personLists();
    const verb = (word: string) => asWord(word, (text, start, end) => born(text, start, end, word));
    return [
      ...labels([...worded(births, dateOfBirth(false)), ...worded(birthdays, dateOfBirth(true))]),
      ...verbs.map(verb),
      ...segmentAnchors("date_of_birth"),
    ];
  },
  postal_address: () => [...addressAnchors(), ...segmentAnchors("postal_address")],
  email: () => [
    { word: "@", check: email },
    ...["(at)", "[at]"].map((word) => ({ word, check: bracketedAddress })),
    ...["com", "org", "net", "co", "io", "de", "uk", "fr", "edu", "eu"].map((end) => ({
      word: ` dot ${end}`,
      check: spokenAddress,
    })),
  ],
  crypto_wallet: () => [
    ...BECH32_PREFIXES.map((word) => ({ word, check: bech32Address })),
    ...CASH_PREFIXES.map((word) => ({ word, check: cashAddress })),
    ...worded(wordsUnder("wallets"), labelledWallet),
  ],
  iban: () => [],
  ip_address: () => [],
  mac_address: () => [],
  provider_token: () => [...tokenAnchors(), { word: ":A", check: telegramToken }, ...infixAnchors()],
  keyed_token: () => SECRET_WORDS.services.map((word) => ({ word, check: serviceKey })),
  // A password near a server and a user is a connection string.
  generic_credential: () => {
    const { passwords, accounts, keys, pins, locked, combinations, ...others } = SECRET_WORDS;
    const whole = new Set(others["whole parts"]);
    const named = (kind: "password" | "key") => (word: string) =>
      asName(word, whole.has(word), kind === "password" ? orInList(announcedSecret(kind)) : announcedSecret(kind));
    const account = (word: string) => asWord(word, accountSecret);
    return [
      ...labels([...passwords.map(named("password")), ...keys.map(named("key")), ...joinedKeys(keys)]),
      ...accounts.map(account),
      ...locked.map((word) => asWord(word, lockedSecret)),
      ...worded(combinations, lockCombination),
      { word: "@", check: mailAndPassword },
      ...labels(worded(pins, orInList(pin))),
      ...labels(worded(others["codes for one use"], oneUseCode)),
      ...labels(worded(others["codes on cards"], cardCode)),
      ...labels(worded(others["codes of doors"], orInList(namedDoorCode))),
      ...labels(worded(others["codes that open"], orInList(doorCode))),
      ...worded(others["what opens"], openingNumber),
      ...worded(others["verbs that open"], openedWith),
      ...worded(others.users, slashedSecret),
      ...worded(others.unlocking, unlockingSecret),
      ...worded(others.resetting, resetSecret),
      ...worded(others.typing, typedSecret),
      ...worded(others["wallet words"], seedPhrase),
      ...labels(worded(others["recovery codes"], orInList(recoveryCodes))),
      ...commandAnchors(),
      ...[":5432:", ":5433:", ":6432:", ":*:"].map((word) => ({ word, check: pgpassLine })),
      ...["$1$", "$5$", "$6$", "$8$", "$9$", "$y$", "$apr1$", "$2a$", "$2b$", "$2y$", "$argon2", "$krb5"].map(
        (word) => ({ word, check: passwordHash }),
      ),
      ...["cookie", "cookies"].map((word) => asWord(word, sessionCookie)),
      ...["jsessionid", "phpsessid", "asp.net_sessionid", "connect.sid", "sessionid", "laravel_session", "cfid"].map(
        (word) => ({ word, check: namedSession }),
      ),
      ...labels([{ word: "stringdata", check: stringData }]),
      { word: "key", check: bareKey },
      { word: "kind: secret", check: manifestSecret },
      { word: 'kind": "secret', check: manifestSecret },
    ];
  },
  auth_header: () => [
    { word: "authorization", check: authorizationHeader },
    { word: "basic", check: schemeCredential("basic") },
    { word: "bearer", check: schemeCredential("bearer") },
    { word: " -u", check: userOption },
    { word: "auth", check: registryAuth },
    { word: "--user", check: userOption },
    { word: "--auth", check: userOption },
    { word: " -p", check: passwordOption },
    { word: " -pw", check: passwordOption },
  ],
  connection_string: () => [{ word: "://", check: connectionString }],
  webhook_url: webhookAnchors,
  jwt: () => [{ word: "ey", check: jsonWebToken }],
  private_key: () => [
    { word: "-BEGIN", check: privateKeyBlock },
    { word: "Private-Lines:", check: puttyKey },
  ],
};

/** The anchors of a detector. */
export const anchorsOf = (detector: DetectorName): Anchor[] => ANCHORS[detector]();

/** The anchors of every detector, in the order of the table: first those of the last policy, which takes precedence. */
export function everyAnchor(): [DetectorName, Anchor][] {
  const names = Object.keys(ANCHORS) as DetectorName[];
  const ofPolicy = (policy: PolicyName) => names.filter((name) => DETECTORS[name].policy === policy);
  return screeningPolicies()
    .reverse()
    .flatMap(ofPolicy)
    .flatMap((name) => anchorsOf(name).map((anchor): [DetectorName, Anchor] => [name, anchor]));
}

const worded = (words: readonly string[], check: Check): Anchor[] =>
  words.flatMap((word) => spellings(word).map((spelling) => asWord(spelling, check)));

/** `consumerKeys`: names of keys as one word, which begins no other. */
const joinedKeys = (keys: readonly string[]): Anchor[] =>
  keys
    .filter((word) => OF_A_NAME.test(word))
    .map((word) => asName(word.replaceAll(" ", ""), true, announcedSecret("key")))
    .filter(({ word }) => !keys.includes(word));
const OF_A_NAME = /^(?!(?:the|this|my|your|our|new) |.* (?:is|for)$)[a-z]+(?: [a-z]+)+$/;

const labels = (anchors: readonly Anchor[]): Anchor[] => anchors.map((anchor) => ({ ...anchor, isLabel: true }));

const labelled = (detector: DetectorName): Anchor[] =>
  labels(
    labelledForms()
      .filter((form) => form.detector === detector)
      .flatMap((form) => worded(form.words, labelledValue(form))),
  );

const personLists = () => wordsOf(personWords, ["phones", "births", "birthdays", "born", "things"]);
