/** Secrets of several parts behind a label: the words of a wallet, codes for recovery, numbers that open something. */
import { type Check, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";

/** What a check costs, and what reading what follows costs. */
const CHECK_UNITS = 20;
const READING_UNITS = 300;
const REACH = 320;

/** Twelve words of three to eight letters (BIP 39), with numbers, commas or line breaks between them. */
const WORDS =
  /^[^a-z]{0,16}(?:\p{L}{1,12}[\s:'’"]{1,3}){0,8}?[\s:="'`([.-]{1,8}(?:\d{1,2}[.)]\s?)?((?:[a-z]{3,8}(?:,?\s{1,2}(?:\d{1,2}[.)]\s?)?|"?,\s?")){11,23}[a-z]{3,8})(?![\p{L}\d])/u;
/** Words that none of the lists of BIP 39 has, and every sentence. */
const OF_SENTENCES = /\b(?:the|and|are|was|were|has|had|from|with|for|but|not|this|which|any|their|our)\b/;

/** `seed phrase: ladder orbit velvet …`. */
export const seedPhrase: Check = (text, _start, end) => {
  spend(READING_UNITS);
  const match = WORDS.exec(text.slice(end, end + REACH));
  const words = match?.[1];
  if (match === null || words === undefined || OF_SENTENCES.test(words)) return null;
  const last = end + match[0].length;
  return hitOf("generic_credential", last - words.length, last);
};

/** The first of at least two codes: `8841-2039, 5520-1187`. */
const CODE = String.raw`(?=[\w-]*\d)[A-Za-z0-9]{4,8}(?:[-\s][A-Za-z0-9]{4,8}){1,3}|\d{8}|(?=[a-z]*\d)[a-z0-9]{8,12}|(?=[A-Z]*\d)[A-Z0-9]{8,12}`;
const CODES = new RegExp(
  String.raw`(?:[^\S\n]?\([^)\n]{1,24}\))?[^\S\n]?(?:is|are|sind|lauten|son|sont|sono|são|to|är|er)?[\s:"'\`[(-]{1,8}(?:\d{1,2}[.)]\s?)?((?:${CODE}))(?=["'\`]?(?:[\s,;|/]+(?:\d{1,2}[.)]\s?)?["'\`-]{0,2}\s?)(?:${CODE})(?![\w-]))`,
  "y",
);

/** `backup codes: 8841-2039, 5520-1187`. */
export const recoveryCodes: Check = (text, _start, end) => {
  spend(CHECK_UNITS);
  if (!hasDigit(text, end, end + 48)) return null;
  spend(READING_UNITS);
  const code = matchAt(CODES, text, end)?.[1];
  if (code === undefined || /^(?:19|20)\d{2}-[01]\d|^v?\d+\.\d/.test(code)) return null;
  return hitOf("generic_credential", CODES.lastIndex - code.length, CODES.lastIndex);
};

const COPULA = `(?:is|was|ist|lautet|est|es|é|è|jest|to|je|är|er|on|este|это|є|e|είναι|adalah|là|olarak)`;
/** Up to six words, and what ties the number: a word for "is", a colon. */
const TIED = new RegExp(
  String.raw`(?:[ \t]{0,2}[(]?[\p{L}'’.-]{1,20}[)]?){0,6}?(?:[ \t]{0,2}[:=：][ \t]{0,2}|[ \t]{1,2}${COPULA}[ \t]{1,2}(?:now[ \t])?|[ \t]?(?:是|为|は)[ \t]?)(\d{4,8})(?!\d|[.,:/-]\d|[ \t]?(?:%|[\p{L}]{1,2}(?!\p{L})|pins?|ohm|volt))`,
  "uy",
);
const BESIDE = /[ \t]{1,2}(\d{4,8})(?!\d|[.,:/-]\d|[ \t]?%)/y;
/** What has such a number. */
const OPENED =
  /card|account|bank|phone|sim\b|voicemail|safe|alarm|door|gate|locker|login|app\b|atm|debit|credit|tablet|unlock|karte|konto|handy|tresor|alarm|tür|carte|compte|téléphone|coffre|tarjeta|cuenta|teléfono|caja|cartão|conta|cofre|celular|carta|bancomat|conto|telefono|pas\b|rekening|telefoon|kart|konta|telefon|sejf|kort|puhelin|kártya|card|κάρτα|карт|телефон|рахун|сч[её]т|сейф|卡|カード|카드|بطاقة|כרטיס|कार्ड/iu;
/** Other numbers that such a word has: of a place in India, of a connector. */
const OTHER =
  /error|fehler|erreur|status|exit|sensor|insee|gpio|pinout|connector|header|arduino|digital|post|zip|city|delhi|mumbai|address|area/i;
const REACH_AROUND = 48;

/** `the PIN of my card is 7731`. `alone`: a number right behind the word is one, whatever it opens. */
export function pin(alone: boolean): Check {
  return (text, start, end) => {
    spend(CHECK_UNITS);
    if (!hasDigit(text, end, end + 72)) return null;
    spend(READING_UNITS);
    const around = text.slice(Math.max(0, start - REACH_AROUND), end + REACH_AROUND);
    if (OTHER.test(around)) return null;
    const pattern = matchAt(TIED, text, end) !== null ? TIED : BESIDE;
    const number = matchAt(pattern, text, end)?.[1];
    const opens = OPENED.test(alone ? around : text.slice(start, pattern.lastIndex));
    if (!opens && !alone) return null;
    // Of six digits are the codes of places, too.
    if (number === undefined || (!opens && (number.length === 6 || (pattern === BESIDE && number.length > 5))))
      return null;
    if (/^(?:19|20)\d\d$/.test(number) && !opens) return null;
    return hitOf("generic_credential", pattern.lastIndex - number.length, pattern.lastIndex);
  };
}
