/** Addresses after words for living somewhere: "lives on Hickory Lane 20". */
import { type Hit, hitOf, spend } from "../check.ts";
import { AFTER, hasNumber, MARK, OTHER_NUMBERS, townEnd } from "./address-parts.ts";
import { datesIn } from "./dates.ts";

/** Words for counted things: the number before one is not a house number. */
const COUNTED =
  "(?:%|am|pm|a\\.m|p\\.m|o.clock|uhr|h|sharp|€|\\$|£|acres?|days?|weeks?|months?|years?|hours?|minut\\p{L}*|хвилин\\p{L}*|минут\\p{L}*|dakika\\p{L}*|perc\\p{L}*|λεπτά|miles?|meters?|metres?|km|m|floors?|euros?|dollars?|pounds?|percent|people|others|different|countries|cities|stunden|tagen?|jahren?|wochen|ans|jours|mois|años|días|anos|dias|meses|anni|giorni|mesi|jaar|dagen|lat|dni|let|dní|år|dagar|dager|dage|vuotta|yıl\\p{L}*|gün|лет|дней|года|месяц\\p{L}*|років|днів)";
const NUMBER_FIRST_HOME = new RegExp(
  String.raw`^\s{1,2}(?:the\s|number\s|nr\.?\s|no\.?\s)?(\d{1,5}\p{L}?(?:[-/]\d{1,4})?),?\s(?!${COUNTED}(?![\p{L}]))(?:\d{1,4}\s(?!${COUNTED}(?![\p{L}]))|\p{L}{2}\.?\s)?[\p{L}][\p{L}\p{M}.'’-]{2,}`,
  "iu",
);
const NAME_FIRST_HOME = new RegExp(
  String.raw`^(?:\s{1,2}[\p{L}][\p{L}\p{M}.,'’-]{0,24}){1,6}?\s{1,2}(?:${MARK}?\d{1,5}\p{L}?(?:[-/]\d{1,4}\p{L}?)?|s\/n)(?=[\s,.;:)!?]|$)(?!\s?${COUNTED}(?![\p{L}]))`,
  "iu",
);
/** Numbers of rooms and ports are not house numbers. */
const NO_HOME =
  /(?<!\p{L})(?:raum|zimmer|room|level|port|page|line|chapter|section|stock|etage|floor|kapitel|seite|zone|block|gate|version|building|packages?|salle|sala|pokój|rum|rom|lokale|aula|klasse|class|grade|group|team|release|python|node|java|jdk|windows|linux|ubuntu|debian|vue|react|angular|kubernetes|postgres\w*|mysql|php|ruby|rails|django|swift|kotlin|typescript|webpack|vite|qt|ios|android|macos|http|tls|api|stage|phase|step|tier|sprint|option|plan)\s(?:n[ro°º.]{1,2}\s?)?\d+/iu;
/** "lives in Madrid since 2012": a year, unless the name of a street stands right before it. */
const YEAR_AT_END = /\s\p{Ll}{1,12}\s(?:19|20)\d{2}$/u;
/** What also stands before counts: "moved to 48 cores", "the office is at 80 percent". */
const BEFORE_COUNTS = /^(?:mov|reloc|office|shop|store|restaurant|clinic|studio|surgery|practice|headq|enter|park)/i;
const REACH_DATE = 32;
const REACH_HOME = 72;
const HOME_UNITS = 400;

/** "lives on Hickory Lane 20": name and number in any order, since the words before show that an address follows. */
export function residence(text: string, start: number, end: number): Hit | null {
  if (!hasNumber(text, end, end)) return null;
  spend(HOME_UNITS);
  const after = text.slice(end, end + REACH_HOME);
  const numberFirst = NUMBER_FIRST_HOME.exec(after);
  const match = numberFirst ?? NAME_FIRST_HOME.exec(after);
  if (match === null || (numberFirst === null && !/[^\p{L}](?:\p{Lu}\p{L}|[\p{Lo}\p{sc=Geor}])/u.test(match[0])))
    return null;
  if (numberFirst !== null && isCount(numberFirst, text.slice(start, end))) return null;
  if (NO_HOME.test(match[0]) || YEAR_AT_END.test(match[0]) || datesIn(text, end, end + REACH_DATE).length > 0)
    return null;
  // A year, as in "lived in Rome in 2004".
  if (/\s(?:in|seit|since|en|em|nel|w|v|i|до|с|в|from|until)\s\d{4}$/iu.test(match[0])) return null;
  return hitOf("postal_address", end + 1, townEnd(text, end + match[0].length, text.slice(end, end + AFTER)));
}

/** Whether the number is a year or a count: no name follows it, and none need follow a house number, as people type. */
function isCount([written, number = ""]: RegExpExecArray, words: string): boolean {
  const next = /(\p{L}+)[\p{L}.'’-]*$/u.exec(written)?.[0] ?? "";
  if (/^\d{3}0s/.test(number) || OTHER_NUMBERS.has(next.toLowerCase())) return true;
  const isUnclear =
    /^(?:19|20)\d\d$/.test(number) || BEFORE_COUNTS.test(words) || /^\s{1,2}\S+\s\p{L}{2}\.?\s/u.test(written);
  return isUnclear && !/\s\p{Lu}\p{L}{2}/u.test(written);
}
