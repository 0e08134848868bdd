/** Numbers that open something, after the word for them: the PIN of a card or a phone, the code of a door. */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";
import { WordSet } from "../text/word-set.ts";
import { anyOf } from "../words/lists.ts";
import { SPOKEN_NUMBER, saysDigits } from "./digit-words.ts";
import { SECRET_WORDS } from "./secret-words.ts";
import { saysOpening } from "./sentence.ts";
import { SENTENCE_WORDS } from "./sentence-words.ts";

/** The cost of a check, and of reading the text after the word, units. */
const CHECK_UNITS = 20;
const READING_UNITS = 400;
/** The cost of looking for what a number opens, units. */
const JUDGED_UNITS = 3_000;
/** How far from its word a number, or the thing that it opens, is looked for, UTF-16 code units. */
const REACH = 72;
/** How far away the number may begin when it is said digit by digit, UTF-16 code units. */
const REACH_SPOKEN = 40;
const REACH_AROUND = 72;
const REACH_BEFORE = 64;

const COPULA = anyOf([...SENTENCE_WORDS.copulas, "to", "on"]);
/** Digits, or digits with one letter among them, as the keypads of doors have. */
const NO_UNIT = String.raw`(?![ \t]?(?:%|(?:[mghslvw]|mm|[ck]m|[mk]g|ml|ms|[kmgt]i?b|p[xt]|hz|kr|zł|ft|nm|db|lm|mah)(?!\p{L})|pins?|ohm|volt))`;
const NUMBER = String.raw`(\d{4,8}|\d(?:[-–]\d){3,7}|\d(?: - \d){3,7}(?! ?-? ?\d)|\d(?: \d){3,7}(?! ?\d)|${SPOKEN_NUMBER}|\d{3} \d{3}(?! ?\d)|\d\d(?:[ -]\d\d){2}(?![ -]?\d)|\d{2,4}[A-D]\d{0,3}|[A-D]\d{3,5}|\d{2,3}[кКkK]\d{2,5}|\d{1,3} ?(?:ключ|klucz|кл\.?|key) ?\d{3,6})(?![\dA-Za-z]|[.,:/-]\d)${NO_UNIT}`;
/** Up to six words, and what ties the number: a word for "is", a colon. */
const TIED = new RegExp(
  String.raw`(?:[\p{L}\p{M}'’-]{0,8}|[\p{Script=Thai}]{9,24}|["'](?=[ \t]?:))(?:,?[ \t]{1,2}(?:[(]?[\p{L}\p{M}'’.-]{1,20}(?::\p{L}{1,2})?[)]?|\d{1,3}(?=[ \t]\p{L}))){0,8}?(?:[ \t]{0,2}[:=：][ \t]{0,2}|,?[ \t]{1,2}${COPULA}[ \t]{1,2}(?:(?:now|the|le|la|el|il|lo|o|a|de|den|det)[ \t])?|[ \t]?(?:是|为|為|は|が|は、|는|은|이|가|คือ)[ \t]?)(?:(?:star|pound|hash|stern|raute|étoile|dièse|asterisco|almohadilla|звёздочка|решётка)[ \t]|[*#"'])?${NUMBER}`,
  "uy",
);
/** Up to four words. */
const BESIDE = new RegExp(
  String.raw`(?:['’-]\p{L}{1,5}|[\p{Script=Thai}]{1,24}|(?<=[\p{Script=Arabic}\p{Script=Hebrew}])\p{L}{1,3}|nya)?(?:[ \t]{1,2}[\p{L}\p{M}'’-]{1,16}){0,4}(?:,?[ \t]{1,2}|(?:[ \t][\p{L}'’-]{1,16}){1,4},[ \t]|(?<=[\p{Script=Han}\p{Script=Hangul}]))${NUMBER}(?=[*#]?[ \t]?(?:[.,;:!?)"'”»。，、।؛\n-]|$|(?:${COPULA}|${anyOf(SECRET_WORDS.and)})(?![\p{L}\p{M}])|(?:이|예|야|임|입)|[ \t]و\p{L}|[ \t](?:kulcs|klucz|ключ)))`,
  "uy",
);

const SHORT_WORD = 3;
const LONGEST_BEGINNING = 5;

/** Parts of words; short ones must be a whole word, or begin one. */
const partsOf = (words: readonly string[]): WordSet =>
  new WordSet(words, (word) => {
    if (!/^[a-z]+$/.test(word) || word.length > LONGEST_BEGINNING) return "anywhere";
    return word.length <= SHORT_WORD ? "whole" : "beginning";
  });
/** Doors, safes and alarms, and other things with a number: cards, telephones, accounts. */
const DOOR = partsOf(SECRET_WORDS["what has a code"]);
const CARD = partsOf(SECRET_WORDS["what has a pin"]);
/** Other numbers with the same word: of an error, of a place in India, of a connector. */
const OTHER = partsOf(SECRET_WORDS["what has other codes"]);

/** `the PIN of my card is 7731`: a number right after the word is a PIN, whatever it opens. */
export const pin: Check = (text, start, end) => {
  const found = numberBehind(text, end) ?? (IN_CAPITALS.test(text.slice(start, end)) ? numberBeside(text, end) : null);
  if (found === null) return null;
  const { number, tied, last } = found;
  const around = aroundOf(text, start, end);
  if (OTHER.isIn(around)) return null;
  // The codes of places in India have six digits, too.
  const isPlace = number.length === 6 && OF_PLACES.test(text.slice(start, end));
  const isClear = !isYear(number) && !isPlace && (tied || number.length <= 6 || OF_SIMS.test(text.slice(start, end)));
  if (!isClear && !DOOR.isIn(around) && !CARD.isIn(around)) return null;
  return hitOf("generic_credential", last - number.length, last);
};

/**
 * `the code of the front door is 4471`: a number is a code when a door is named near it, or a card between word and
 * number.
 */
export const doorCode: Check = (text, start, end) => codeBehind(text, start, end, "code");

/** `the door code is 4471`: the word itself names what it opens. */
export const namedDoorCode: Check = (text, start, end) => codeBehind(text, start, end, "door code");

/** `the card has the password 3391`: the thing that has the password may also be named before the word. */
export const passwordNumber: Check = (text, start, end) => codeBehind(text, start, end, "password");

function codeBehind(text: string, start: number, end: number, name: "code" | "door code" | "password"): Hit | null {
  const isNamed = name === "door code";
  const found = numberBehind(text, end);
  if (found === null) return name === "code" ? numberInFront(text, start, end) : null;
  const isAdjacent = found.last - found.number.length - end <= 2;
  if (!found.tied && !(isNamed && isAdjacent) && isYear(found.number)) return null;
  if (OTHER.isIn(aroundOf(text, start, end))) return null;
  // A thing named after the number is not what the number opens.
  const ahead = lastSentenceOf(text.slice(Math.max(0, start - REACH_BEFORE), start));
  const before = ahead + text.slice(start, found.last);
  const behind = isAdjacent && name === "password" ? before : text.slice(start, found.last);
  // Nobody says other numbers digit by digit.
  const isSpoken = /^\p{L}/u.test(found.number) && !/\d/.test(found.number);
  if (
    isNamed &&
    !found.tied &&
    !NAMES_CODE.test(text.slice(start, end)) &&
    /^ (?:is|was|has|are) /.test(text.slice(found.last, found.last + 5))
  )
    return null;
  const isSent = name === "code" && found.tied && SENT.test(text.slice(found.last, found.last + REACH_SPOKEN));
  if (!isNamed && !isSpoken && !isSent && !DOOR.isIn(before) && !CARD.isIn(behind) && !saysOpening(ahead)) return null;
  return hitOf("generic_credential", found.last - found.number.length, found.last);
}

/** "lockbox 9046 is empty": unless it is that of the code, the number may be the thing's own. */
const NAMES_CODE = /cod|kod|kód|pin|код|κωδ|码|番号|暗証|비밀|รหัส/i;
/** What is said of a code that somebody was sent. */
const SENT =
  /^[.,;!]?\s(?:please\s)?(?:do not|don't|never|nicht|niemandem|ne (?:le |la )?(?:partagez|communiquez|donnez)|no (?:lo |la )?(?:comparta|compartas|des)|não (?:o |a )?partilh|non (?:condivid|comunic)|niet delen|nie podawaj|никому|нікому)/iu;

const IN_FRONT = new RegExp(
  String.raw`(?<![\p{L}\d.,:/-])(\d{4,8})[ \t](?:${anyOf(SENTENCE_WORDS["joints in front"])})[ \t](?:\p{L}{1,12}[ \t]){0,2}$`,
  "iu",
);
const REACH_IN_FRONT = 40;

/** `we set 1406 as the code of the safe`. */
function numberInFront(text: string, start: number, end: number): Hit | null {
  if (!hasDigit(text, start - REACH_IN_FRONT, start)) return null;
  spend(READING_UNITS);
  const from = Math.max(0, start - REACH_IN_FRONT);
  const match = IN_FRONT.exec(text.slice(from, start));
  if (match === null || isYear(match[1] as string) || !DOOR.isIn(text.slice(start, end + REACH_AROUND))) return null;
  const at = from + match.index;
  return hitOf("generic_credential", at, at + (match[1] as string).length);
}

const lastSentenceOf = (text: string): string => /(?:[.!?]\s[^.!?\n]*|[^\n]*)$/.exec(text)?.[0] ?? "";

/** The surroundings of the word, in which lists of words are looked for. */
function aroundOf(text: string, start: number, end: number): string {
  spend(JUDGED_UNITS);
  return text.slice(Math.max(0, start - REACH_AROUND), end + REACH_AROUND);
}

const OF_SIMS = /puk/i;
const OF_PLACES = /^(?:pin(?:[ -]?(?:code|number))?|пин|पिन(?: कोड)?)$/i;
const isYear = (number: string): boolean => /^(?:19|20[0-4])\d{1,2}$/.test(number) && number.length === 4;

/** The number that a word announces; whether something ties it to the word. */
function numberBehind(text: string, end: number): { number: string; tied: boolean; last: number } | null {
  // A name in a program or in markup.
  const next = text[end] ?? " ";
  if (">_(./<[{)".includes(next) || (next === '"' && !/^"\s?:/.test(text.slice(end, end + 3)))) return null;
  spend(CHECK_UNITS);
  if (!hasDigit(text, end, end + REACH) && !saysDigits(text, end, end + REACH_SPOKEN)) return null;
  spend(READING_UNITS);
  const tied = matchAt(TIED, text, end)?.[1];
  if (tied !== undefined) return { number: tied, tied: true, last: TIED.lastIndex };
  const beside = matchAt(BESIDE, text, end)?.[1];
  return beside === undefined ? null : { number: beside, tied: false, last: BESIDE.lastIndex };
}

/** `PIN` with a number right after it, whatever follows in the sentence. */
const IN_CAPITALS = /^(?:PIN|ПИН|Pin|Пин|ΡΙΝ)(?:-?(?:[Cc]ode|[Кк]од|[Kk]od[ei]?))?$/;
const NEXT = new RegExp(String.raw`[ \t]${NUMBER}(?=[ \t]\p{L})`, "uy");

function numberBeside(text: string, end: number): { number: string; tied: boolean; last: number } | null {
  const number = matchAt(NEXT, text, end)?.[1];
  return number === undefined || number.length === 6 ? null : { number, tied: false, last: NEXT.lastIndex };
}

/** The number begins its clause: "bus 4829 opens its doors". */
const NUMBER_IN_FRONT =
  /(?:^|[.!?:;,(\n"'“„>]\s?|(?<=\p{L}\s)(?=(?:mit|with|met|med|avec|con|com)[ \t]))(?:(mit|with|met|med|avec|con|com)[ \t])?(\d{4,6}|\d(?:-\d){3,5})[*#]?[ \t]$/iu;
const NUMBER_RIGHT_AFTER =
  /(?:[ \t](?:mit|with|met|med|avec|con|com|z|s|cu|με|с|з))?[ \t](\d{4,6}|\d(?:-\d){3,5})[*#]?(?=[ \t]{0,2}(?:[.,;!)\n]|$))/iuy;
const REACH_OF_DOOR = 40;
const REACH_OF_NUMBER = 18;
/** This verb means opening only with a word behind it: "mit 4829 geht das Tor auf". */
const PARTED_VERB = /^geht$/i;

/** `4829 opens the garden gate`, `bramę otwiera 4829`: the number on one side of the verb, the door on the other. */
export const openedWith: Check = (text, start, end) => {
  spend(CHECK_UNITS);
  if (!hasDigit(text, start - REACH_OF_NUMBER, end + REACH_OF_NUMBER)) return null;
  spend(READING_UNITS);
  const from = Math.max(0, start - REACH_OF_NUMBER);
  const before = NUMBER_IN_FRONT.exec(text.slice(from, start));
  const behind = text.slice(end, end + REACH_OF_DOOR).split("\n", 1)[0] ?? "";
  const number = before?.[2];
  const isParted = PARTED_VERB.test(text.slice(start, end));
  if (before !== null && number !== undefined && !isYear(number) && DOOR.isIn(behind)) {
    if (isParted && (before[1] === undefined || !/(?<!\p{L})auf(?!\p{L})/iu.test(behind))) return null;
    const at = from + before.index + before[0].lastIndexOf(number);
    return hitOf("generic_credential", at, at + number.length);
  }
  const given = isParted ? undefined : matchAt(NUMBER_RIGHT_AFTER, text, end)?.[1];
  const ahead = lastSentenceOf(text.slice(Math.max(0, start - REACH_OF_DOOR), start));
  if (given === undefined || isYear(given) || !DOOR.isIn(ahead)) return null;
  const last = text.indexOf(given, end) + given.length;
  return hitOf("generic_credential", last - given.length, last);
};

/** "le code du cadenas, c'est 733": a lock may have three wheels. */
const LOCK = /lock|schloss|cadenas|candado|cadeado|lucchetto|slot|kłódk|zám|lås|lukko|lakat|lacăt|λουκέτο|kilit|замо/iu;
const CODE_BEFORE =
  /(?<!\p{L})(?:code|combination|combo|zahl|kombination|código|clave|senha|segredo|codice|combinazione|kod|szyfr|kód|kombinace|koodi|κωδικός|şifre|код|шифр)\p{L}{0,6}\s[^.!?\n]{0,20}$/iu;
const SAID_OF_LOCK = new RegExp(
  String.raw`(?:,?[ \t]{1,2}${COPULA}[ \t]|[ \t]?:[ \t])(\d{3})(?=[ \t]{0,2}(?:[.,;!)\n]|$))`,
  "iuy",
);

/** "I changed the alarm to 4829"; what an alarm is set to may be a time. */
const CHANGED =
  /(?<!\p{L})(?:chang|reset|geänder|umgestellt|chang|cambi|mud(?:ei|ou|amos)|alter|verander|zmieni|změni|ändra|ændre|endre|vaihd|megváltoz|schimba|άλλαξ|değiş|смени|помен|зміни)[^\n.]*$/iu;
const CHANGED_TO =
  /[ \t](?:to|auf|en|a|par|pour|para|in|naar|na|till|til|în|σε|на)[ \t](\d{4,6})(?=[ \t]{0,2}(?:[.,;!)\n]|$))/iuy;

/** Locks that only a number opens: "bike lock 4829". */
const NUMBERED_LOCK =
  /bike|bicycle|pad|zahlen|fahrrad|cijfer|fiets|hangslot|bici|numero|cykel|sykkel|pyör|kolo|вело|кодов/i;
const NUMBER_OF_LOCK = /[ \t:]{1,2}(\d{3,6})(?=[ \t]{0,2}(?:[.,;!)\n]|$))/y;

/** A number that "with" or a word for a code ties, alone at the end of what is said. */
const WITH = new RegExp(
  String.raw`(?:(?:[ \t,:–-]{1,3}[\p{L}\p{M}'’(]{1,20}\)?){0,6}?[ \t:]{1,3}(?:${anyOf(SECRET_WORDS["what a number is given with"])})[ \t:]{1,2}|(?:[ \t][\p{L}'’]{1,16}){0,4}[ \t]?[:：][ \t])(\d{4,8})(?![\p{L}\d%]|[.,:/-]\d)${NO_UNIT}(?=[*#]?[ \t]{0,2}(?:[.,;:!?)"'”»\n]|$|(?:${anyOf(SECRET_WORDS.and)})(?!\p{L})))`,
  "uy",
);
/** Numbers that a dial is turned to, with or without the direction: "15-42-8", "30 left, 12 right, 45 left". */
const DIRECTION = anyOf(SECRET_WORDS.directions);
const TURNED =
  /[^\d\n]{0,60}?(\d{1,2}[^\d\n]{1,16}\d{1,2}[^\d\n]{1,16}\d{1,2}(?:[-–]\d{1,2}){0,3})(?![\d.:%-]*\d|[ \t]?[%€$£°]|[ \t]?(?:c?m|kg|h|min)(?!\p{L}))/uy;
const TURN = new RegExp(String.raw`(?<!\p{L})(?:${DIRECTION})(?!\p{L})[^]*?(?<!\p{L})(?:${DIRECTION})(?!\p{L})`, "iu");
const OF_TELEPHONES = /fon|phone|tel[eé]f|handy|cel|móvil|tabl|ipad|laptop|orden|portab|сот|電話/i;
/** "7-1-4-4", as a lock of a bicycle is set. */
const SINGLE_DIGITS = /^\d(?:[-–]\d){3,5}$/;
const JOINED_NUMBERS = /^\d{1,2}([-–])\d{1,2}(?:\1\d{1,2}){1,4}$/;
const OPENS = new WordSet(SECRET_WORDS["what is done with a lock"], () => "beginning");

/** `the safe opens with 15-42-8`, `disarm the alarm with 5530`: the numbers after the thing that they open. */
export const openingNumber: Check = (text, start, end) => {
  spend(CHECK_UNITS);
  // A name in a program, of a setting or a file.
  if ('"=_.[](){}<>/\\'.includes(text[end] ?? '"') || !hasDigit(text, end, end + REACH)) return null;
  spend(READING_UNITS);
  const around = text.slice(Math.max(0, start - REACH_BEFORE), end + REACH);
  const given = matchAt(WITH, text, end)?.[1];
  if (given !== undefined && !isYear(given) && OPENS.isIn(around))
    return hitOf("generic_credential", WITH.lastIndex - given.length, WITH.lastIndex);
  const ofLock = NUMBERED_LOCK.test(text.slice(start, end)) ? matchAt(NUMBER_OF_LOCK, text, end)?.[1] : undefined;
  if (ofLock !== undefined && !isYear(ofLock))
    return hitOf("generic_credential", NUMBER_OF_LOCK.lastIndex - ofLock.length, NUMBER_OF_LOCK.lastIndex);
  const isOnLock =
    LOCK.test(text.slice(start, end)) && CODE_BEFORE.test(text.slice(Math.max(0, start - REACH_SPOKEN), start));
  const onLock = isOnLock ? matchAt(SAID_OF_LOCK, text, end)?.[1] : undefined;
  if (onLock !== undefined)
    return hitOf("generic_credential", SAID_OF_LOCK.lastIndex - onLock.length, SAID_OF_LOCK.lastIndex);
  const changed = matchAt(CHANGED_TO, text, end)?.[1];
  if (changed !== undefined && CHANGED.test(text.slice(Math.max(0, start - REACH_BEFORE), start)))
    return hitOf("generic_credential", CHANGED_TO.lastIndex - changed.length, CHANGED_TO.lastIndex);
  const turned = matchAt(TURNED, text, end)?.[1];
  if (turned === undefined) return null;
  spend(JUDGED_UNITS);
  const last = TURNED.lastIndex;
  const isOpening =
    SINGLE_DIGITS.test(turned) ||
    (JOINED_NUMBERS.test(turned) && last - turned.length - end <= 3 && !OF_TELEPHONES.test(text.slice(start, end))) ||
    (JOINED_NUMBERS.test(turned) && OPENS.isIn(text.slice(Math.max(0, start - REACH_BEFORE), last)));
  if (!isOpening && !TURN.test(text.slice(last - turned.length - DIRECTION_REACH, last + DIRECTION_REACH))) return null;
  return hitOf("generic_credential", last - turned.length, last);
};
const DIRECTION_REACH = 12;

/** "31-07-22", after up to a few words. */
const DIALLED = /[^\d\n]{0,40}?(\d{1,2}([-–, ]|, )\d{1,2}\2\d{1,2}(?:\2\d{1,2})?)(?!\d|[.:%-]\d|%)/y;

/** `the combination of the safe is 31-07-22`. */
export const lockCombination: Check = (text, start, end) => {
  spend(CHECK_UNITS);
  if (!hasDigit(text, end, end + REACH)) return null;
  spend(READING_UNITS);
  const numbers = matchAt(DIALLED, text, end)?.[1];
  if (numbers === undefined) return null;
  const around = aroundOf(text, start, end);
  if (
    !DOOR.isIn(around) &&
    !/(?<!\p{L})(?:lock|padlock|schloss|slot|lås|lucchetto|candado|cadenas|cadeado)(?!\p{L})/iu.test(around)
  )
    return null;
  return hitOf("generic_credential", DIALLED.lastIndex - numbers.length, DIALLED.lastIndex);
};
