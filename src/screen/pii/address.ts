/**
 * Postal addresses. No part of an address suffices alone, so an address is recognized by enough parts close together: a
 * house number beside a street's name, a unit, a town with its code, a label.
 */

import { type Anchor, asWord, continues, spellings } from "../anchor.ts";
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";
import { cellsBelow } from "../text/table.ts";
import {
  ADDRESS_LISTS,
  ADDRESS_WORDS,
  AFTER,
  BEFORE,
  hasNumber,
  isHouseNumber,
  MARK,
  NUMBER,
  OTHER_NUMBERS,
  TOWN,
  townEnd,
} from "./address-parts.ts";
import { datesIn } from "./dates.ts";
import { placeAnchors } from "./places.ts";
import { residence } from "./residence.ts";

/** How far after a street's name its number begins. */
const REACH_NUMBER = 24;

const NAME = String.raw`(?:\p{Lu}[\p{L}'’.-]{0,24}|\d{1,3}(?:st|nd|rd|th)|d[aeiou]s?|de la|degli|dell[aeo]|dei|del|dal|van|der|den|la|las|los|le|du|of)`;
const HOUSE_BEFORE = new RegExp(
  String.raw`(?:^|[^\p{L}\p{N}.$€£#/_-])(\d{1,6}[A-Za-z]?(?:[-/]\d{1,4})?),?(?:\s{1,2}\d{1,5})?(?:\s{1,2}(?:[NSEW]\.?|North|South|East|West))?(?:\s{1,2}${NAME}){0,5}\s{1,2}$`,
  "u",
);
const HOUSE_BEFORE_LOOSE =
  /(?:^|[^\p{L}\p{N}.$€£#/_-])(\d{1,6}[A-Za-z]?),?(?:\s{1,2}[\p{L}\p{N}'’.-]{1,24}){1,5}\s{1,2}$/u;
const HOUSE_AFTER = new RegExp(
  String.raw`^\s{0,2}${NAME}(?:\s{1,2}${NAME}){0,4}(?:,\s{0,2}|\s{1,2})(${MARK}?)(${NUMBER})(?![\p{L}\p{N}:%]|\.\d)`,
  "u",
);
const HOUSE_RIGHT_AFTER = new RegExp(
  String.raw`^(?:,\s{0,2}|\s{1,2})(${MARK}?)(${NUMBER})(?![\p{L}\p{N}:%]|\.\d)`,
  "u",
);
/** The text that follows a number which is a house number rather than a count. */
const NUMBER_ENDS =
  /^\s{0,2}(?:[,.;)\]\n"'“”»<|]|$|кв|оф|apt|unit|suite|daire|kat|ap\.|sc\.|et\.|m\.|byt|lgh|tv\.|th\.|st\.)/iu;
/** "in Kassel". */
const IN_TOWN = /^,?\s(?:in|im|à|a|en|em|w|we|v|ve|i|på|na|в|на|у|в|te|din|din)\s\p{Lu}\p{L}/u;
const UNIT_AFTER =
  /\b(?:suite|ste|apt|apartment|apto|unit|flat|lgh|leil|box|floor|room|appartamento|zimmer|daire|étage)\b\.?\s{0,2}#?\d{1,5}/iu;
const PREFIX_NUMBER = /(?:^|[^\p{L}\p{N}.$€£#/_-])\d{1,6}[A-Za-z]?(?:\s?(?:bis|ter))?,?\s{1,2}$/u;
const CITY_AFTER = /^\.?(?:\s{0,2}(?:[#\p{L}]{0,10}\.?\s{0,2}\d{1,5}))?(?:,\s{0,3}|\n\s?)\p{Lu}\p{L}{2,}/u;

/** The cost of reading the surroundings of a word, units. */
const SURROUNDINGS_UNITS = 600;
function around(text: string, start: number, end: number): { before: string; after: string } {
  spend(SURROUNDINGS_UNITS);
  return { before: text.slice(Math.max(0, start - BEFORE), start), after: text.slice(end, end + AFTER) };
}

const FOUNDATION = /Foundation,?\s{1,3}Inc\.,\s{1,3}(?:51 Franklin|59 Temple)/;
const FOUNDATION_REACH = 40;

/** "Rose Cottage, Mill Lane": a house with a name instead of a number. */
const NAMED_HOUSE =
  /(?:\p{Lu}[\p{L}'’-]+\s){1,3}(?:Cottage|House|Farm|Lodge|Barn|Hall|Manor|Grange|Villa|Rectory|Vicarage|Croft|Mill|Court|Forge|Chapel|Stables|Gables|School),\s{1,2}(?:\p{Lu}[\p{L}'’-]+\s){1,3}$/u;

/** "201 Hickory Lane": the word that spans `[start, end)` ends a street's name. */
function streetAddress(weak: boolean): Check {
  return (text, start, end) => {
    if (!isUpper(text, start) || !(hasDigit(text, start - BEFORE, start) || hasDigit(text, end, end + REACH_NUMBER)))
      return null;
    const { before, after } = around(text, start, end);
    // In the notice of every GNU licence; where examples live.
    if (
      /\bAny ?town\b/i.test(after) ||
      /Software[\s#*;/%-]+Foundation/.test(before) ||
      FOUNDATION.test(text.slice(Math.max(0, start - FOUNDATION_REACH), end))
    )
      return null;
    const behind = HOUSE_RIGHT_AFTER.exec(after);
    const named = isHouseNumber(behind?.[1]) ? /(?:\p{Lu}[\p{L}'’-]+\s){1,3}$/u.exec(before) : null;
    if (behind !== null && named !== null) {
      return hitOf("postal_address", start - named[0].length, townEnd(text, end + behind[0].length, after));
    }
    const house = HOUSE_BEFORE.exec(before);
    const cottage = house === null && TOWN.test(after) ? NAMED_HOUSE.exec(before) : null;
    if (cottage !== null)
      return hitOf("postal_address", start - cottage[0].trimStart().length, townEnd(text, end, after));
    if (
      !house ||
      !/\p{L}/u.test(before.slice(house.index + house[0].indexOf(house[1] as string) + (house[1] as string).length))
    ) {
      return null;
    }
    if (weak && !TOWN.test(after) && !UNIT_AFTER.test(after.slice(0, 48)) && !CITY_AFTER.test(after)) return null;
    const from = start - (before.length - house.index - house[0].indexOf(house[1] as string));
    return hitOf("postal_address", from, townEnd(text, end, after));
  };
}

/** "rue de la Paix 5": the word begins a street's name. */
function prefixedStreet(clear: boolean): Check {
  return (text, start, end) => {
    if (!hasNumber(text, start, end)) return null;
    const { before, after } = around(text, start, end);
    const numberAfter = HOUSE_AFTER.exec(after);
    const numberBefore =
      PREFIX_NUMBER.test(before) &&
      /^\s{1,2}(?:(?:d[aeiou]s?|de la|di|del|della|dell'|la|le|du|l')\s{0,1}){0,3}\p{Lu}\p{L}/u.test(after);
    if (!numberAfter && !numberBefore) return null;
    const strong = isHouseNumber(numberAfter?.[1]) || TOWN.test(after) || UNIT_AFTER.test(after.slice(0, 60));
    if (clear && numberAfter && (numberAfter[1] !== "" || endsHere(after.slice(numberAfter[0].length)))) {
      return isNamed(after) ? hitOf("postal_address", start, townEnd(text, end + numberAfter[0].length, after)) : null;
    }
    if (
      !strong &&
      !(clear && numberBefore) &&
      !(isUpper(text, start) && (numberBefore || clear || CITY_AFTER.test(after.slice(numberAfter?.[0].length ?? 0))))
    )
      return null;
    return hitOf("postal_address", start, townEnd(text, end + (numberAfter?.[0].length ?? 0), after));
  };
}

const endsHere = (rest: string): boolean => NUMBER_ENDS.test(rest) || IN_TOWN.test(rest);
const isNamed = (after: string): boolean => /^\s{0,2}(?:\p{Ll}{1,4}\s){0,3}\p{Lu}\p{L}/u.test(after);

/** "Bahnhofstraße 7": the street's name ends with the word, and a number follows. */
const joinedStreet =
  (clear: boolean) =>
  (text: string, start: number, end: number): Hit | null => {
    if (continues(text, end) || !/[ \t\u00a0,]/.test(text[end] ?? "") || !hasDigit(text, end, end + REACH_NUMBER))
      return null;
    let from = start;
    while (from > 0 && start - from < 40 && /\p{L}/u.test(text[from - 1] as string)) from--;
    if (from < start ? !isUpper(text, from) : !/\p{Lu}\p{L}+\s$/u.test(text.slice(Math.max(0, from - 24), from)))
      return null;
    const { after } = around(text, start, end);
    const number = HOUSE_RIGHT_AFTER.exec(after);
    // "Chapter 7" ends as a square in Hungary does.
    if (!number || OTHER_NUMBERS.has(text.slice(from, end).toLowerCase())) return null;
    const rest = after.slice(number[0].length);
    if (
      !isHouseNumber(number[1]) &&
      !(clear && (number[1] !== "" || endsHere(rest) || /^\s\p{Lu}\p{L}/u.test(rest))) &&
      !TOWN.test(rest.slice(0, 80)) &&
      !UNIT_AFTER.test(rest.slice(0, 40))
    )
      return null;
    return hitOf("postal_address", from, townEnd(text, end + number[0].length, after));
  };

const UNIT_NUMBER = /^s?[.:]?\s{0,2}#?(\d{1,5})[A-Za-z]?(?![\p{L}\p{N}%])(?!\.\d)/u;

/** A box at a post office takes the place of street and house. */
const POST_BOX = /box|fach|boîte|casella|caixa|apartado/i;

/** "9721 Dalmatinova 43 Apt. 678": a unit with its number, and a house number before it. */
function unitAddress(strong: boolean): Check {
  return (text, start, end) => {
    if (!hasDigit(text, end, end + 6)) return null;
    const { before, after } = around(text, start, end);
    const unit = UNIT_NUMBER.exec(after);
    if (!unit) return null;
    const line = before.replace(/[,;]\s{0,3}$/, " ").replace(/\s+$/, " ");
    const house = HOUSE_BEFORE_LOOSE.exec(line);
    const rest = after.slice(unit[0].length);
    const town = TOWN.test(rest);
    if (strong && POST_BOX.test(text.slice(start, end)) && (town || CITY_AFTER.test(rest)))
      return hitOf("postal_address", start, townEnd(text, end + unit[0].length, after));
    const trailing = /\p{L}{2,}\s\d{1,5}[A-Za-z]?[\s,]{0,3}$/u.test(line);
    if (!house && !trailing && !(strong && town)) return null;
    if (!strong && !town) return null;
    return hitOf(
      "postal_address",
      house ? start - (before.length - house.index) : start,
      townEnd(text, end + unit[0].length, after),
    );
  };
}

const MILITARY = /^\s{1,3}A[AEP]\s{1,3}\d{5}/;

/** "APO AE 20040" (USPS publication 28, section 225). */
function militaryAddress(text: string, start: number, end: number): Hit | null {
  const { after } = around(text, start, end);
  const match = MILITARY.exec(after);
  return match ? hitOf("postal_address", start, end + match[0].length) : null;
}

/** The costs of reading a member and the header of a table, units. */
const MEMBER_UNITS = 60;
const HEADER_UNITS = 80;
/** A member's sign and value, up to its quote, or to the end of the line or of the element. */
const STREET_MEMBER =
  /(?:["'`]\s{0,3}[:=]>?\s{0,3}["'`]((?:[^"'`\n{}<>[\]=@]|'(?=\p{L})){2,80})(?=["'`])|[:=>]\s{0,3}(?:["'`]((?:[^"'`\n{}<>[\]=@]|'(?=\p{L})){2,80})(?=["'`])|([^"`\n{}<>[\]=@,;]{2,80})(?=[\n<,;}]|$)))/uy;
/** A street has a word of two letters at least, which does not begin with a small one, and is no address of a host. */
const STREET_VALUE = /^(?!.{0,12}\/\/)(?=.{0,40}?(?:\p{Lu}\p{L}|[\p{Lo}\p{sc=Geor}\p{sc=Han}]))/u;
const HOUSE_MEMBER =
  /(?:^|[\s"'`,{_<])(?:house[_ ]?n(?:o|umber)|street[_ ]?n(?:o|umber)|number|nr|no|num|hausnr|hausnummer|nummer|huisnummer|num[eé]ro|número|civico|nr_domu|дом)["'`]?\s{0,3}[:=>]\s{0,3}["'`]?\d{1,5}/iu;
const TOWN_MEMBER =
  /(?:^|[\s"'`,{_<])(?:zip(?:[_ ]?code)?|postal(?:[_ ]?code)?|post_?code|plz|postleitzahl|code_postal|c[oó]digo_postal|cep|cap|cp|city|town|stadt|ort|ville|ciudad|cidade|citt[aà]|plaats|miasto|город)["'`]?\s{0,3}[:=>]\s{0,3}["'`]?(?!(?:null|none|undefined|true|false|string)\b)[\p{L}\d]/iu;

const TOWN_IN_CAMEL_CASE =
  /[a-z](?:Zip|PostalCode|PostCode|Postcode|City|Town)["'`]?\s{0,3}[:=>]\s{0,3}["'`]?[\p{Lu}\p{Lo}\d]/u;
const isBesideTown = (text: string): boolean => TOWN_MEMBER.test(text) || TOWN_IN_CAMEL_CASE.test(text);

/** `street: 'Kirchgasse', number: '14', zip: '8001'`: the parts of an address are adjacent members. */
function structuredAddress(text: string, start: number, end: number): Hit | null {
  if (!hasDigit(text, end, end + AFTER)) return null;
  spend(MEMBER_UNITS);
  const street = matchAt(STREET_MEMBER, text, end);
  const value = street?.[1] ?? street?.[2] ?? street?.[3];
  if (street === null || value === undefined || !STREET_VALUE.test(value)) return null;
  const { before, after } = around(text, start, end);
  if (!isBesideTown(after) && !isBesideTown(before)) return null;
  const house = HOUSE_MEMBER.exec(after);
  if (house === null && !/\d|(?<!\p{L})s\/n(?!\p{L})/u.test(value)) return null;
  return hitOf("postal_address", start, end + (house === null ? street[0].length : house.index + house[0].length));
}

/** A column of streets, in a table that has one of postcodes or towns, too. */
function streetColumn(text: string, start: number, end: number): Hit | null {
  if (!/[,;|\t\n]/.test(text[end] ?? "") || !hasDigit(text, end, end + AFTER)) return null;
  spend(HEADER_UNITS);
  const before = text.slice(Math.max(0, start - BEFORE), start);
  const header = before.slice(before.lastIndexOf("\n") + 1) + (text.slice(end, end + AFTER).split("\n", 1)[0] ?? "");
  if (!TOWN_COLUMN.test(header)) return null;
  for (const cell of cellsBelow(text, start, end)) {
    const written = text.slice(cell.start, cell.end);
    if (/\d/.test(written) && STREET_VALUE.test(written)) return hitOf("postal_address", cell.start, cell.end);
  }
  return null;
}

const TOWN_COLUMN =
  /(?<![\p{L}])(?:zip|postal|postcode|post_code|plz|postleitzahl|city|town|stadt|ort|ville|ciudad|cidade|citt[aà]|plaats|miasto|город)/iu;

/** A value begins within this many characters, with a number or a name. */
const VALUE_NEAR = 20;
const REACH_DATE = 32;
const LABEL_GLUE =
  /^(?:s\b)?["'`\])]{0,3}(?:[\s:=>?,"'`\\({[-]|\b(?:is|in|at|to|it|line|number|ist|est|es|è|é|the|of|corner|\d(?=["':]))\b|\d(?=["'\s]{0,2}[:=])|>){0,12}/iu;
const NUMBER_FIRST =
  /^(\d{1,6}[A-Za-z]?(?:[-/]\d{1,4})?),?\s{1,2}(?:\d{1,3}(?:st|nd|rd|th)\s)?\p{L}[\p{L}'’.-]*(?:[\s,]+[\p{L}\p{N}'’./#-]+){1,10}/u;
const NAME_FIRST =
  /^(?:\p{Ll}{2,12}\.?\s)?\p{Lu}[\p{L}'’.-]*(?:\s{1,2}[\p{L}'’.-]+){0,5},?\s{1,2}(?:n[°º.]?\s?)?\d{1,5}\s?[A-Za-z]?(?![\p{L}\p{N}:%])/u;

/** A place in a building, which is no street. */
const IN_BUILDING = /^(?:building|bldg|room|floor|level|desk|suite|hall|raum|zimmer|stock|salle|sala|rum)\s\d/i;
/** Without a house number: a name, a comma, a code and a town. */
const WITH_TOWN = /^\p{L}[^\n]{3,70}?,\s(?:\d{4,6}|\d{2}-\d{3})\s\p{Lu}\p{L}+/u;

/** The address after a label. A clear label needs fewer parts beside it than "address" alone. */
function labelledAddress(clear: boolean): Check {
  return (text, start, end) => {
    if (!hasDigit(text, end, end + AFTER) || !/[\p{Lu}\d]/u.test(text.slice(end, end + VALUE_NEAR))) return null;
    const { after } = around(text, start, end);
    const glue = LABEL_GLUE.exec(after)?.[0].length ?? 0;
    // "The address of Peerj is …": a name may stand between.
    const named = /^\s?(?:of\s)?\p{L}[^\n.:]{1,48}?\s(?:is|:)\s/u.exec(after)?.[0].length ?? 0;
    for (const at of named > glue ? [glue, named] : [glue]) {
      const value = after.slice(at);
      const match = NUMBER_FIRST.exec(value) ?? NAME_FIRST.exec(value) ?? (clear ? WITH_TOWN.exec(value) : null);
      if (!match || IN_BUILDING.test(match[0]) || datesIn(text, end + at, end + at + REACH_DATE)[0]?.start === end + at)
        continue;
      const rest = value.slice(0, 110);
      // "line1: Summary 2026": a year is no postcode either.
      const isYear = /\p{L}\s(?:19|20)\d\d$/u.test(match[0]);
      const parts = TOWN.test(isYear ? rest.slice(match[0].length) : rest) || UNIT_AFTER.test(rest);
      // "Thanks for 22 years"
      const isCount = !/^\d/.test(match[0]) && /^\s\p{Ll}{3,}/u.test(value.slice(match[0].length));
      if (!parts && (isYear || isCount || !((clear || at === named) && isStreetLike(match[0])))) continue;
      return hitOf("postal_address", end + at, townEnd(text, end + at + match[0].length, after.slice(at)));
    }
    return null;
  };
}

/** A number and a name in capitals, without the words that follow other numbers. */
const isStreetLike = (value: string): boolean =>
  /\p{Lu}\p{L}{2,}/u.test(value) && !/\b(?:bytes|bits|items|times|days|hours|minutes|percent|0x)\b/i.test(value);

function isUpper(text: string, at: number): boolean {
  const char = text[at] as string;
  return char !== char.toLowerCase();
}

/** Each list of words/addresses.txt with the check of its words. */
const CHECKS = {
  streets: streetAddress(false),
  "weak streets": streetAddress(true),
  "street prefixes": prefixedStreet(false),
  "clear street prefixes": prefixedStreet(true),
  "street endings": joinedStreet(false),
  "clear street endings": joinedStreet(true),
  units: unitAddress(false),
  "strong units": unitAddress(true),
  labels: labelledAddress(true),
  "unclear labels": labelledAddress(false),
  residences: residence,
  military: militaryAddress,
  "street members": (text, start, end) => structuredAddress(text, start, end) ?? streetColumn(text, start, end),
} as const satisfies Record<(typeof ADDRESS_LISTS)[number], Check>;

/** Every word that may be part of an address, with its check. */
export function addressAnchors(): Anchor[] {
  const anchors = ADDRESS_LISTS.flatMap((heading) => {
    const check = CHECKS[heading];
    const words = ADDRESS_WORDS[heading];
    // The ending of a name is not a word of its own.
    if (heading.endsWith("street endings")) return words.map((word) => ({ word, check }));
    const spelt = heading.endsWith("labels") || heading === "street members" ? words.flatMap(spellings) : words;
    return spelt.map((word) => asWord(word, check));
  });
  return [...anchors, ...placeAnchors()];
}
