/** Passwords beside the user, the mail address or the locked file that they are for, without a word for "password". */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { hasDigit, matchAt } from "../text/ascii.ts";
import { WordSet } from "../text/word-set.ts";
import { isJoint } from "./joint.ts";
import { SECRET_WORDS } from "./secret-words.ts";
import { isShortOne, looksChosen, mayBeOne, type Span, saidSecret, saysOpening } from "./sentence.ts";

/** The costs of checks, units. */
const SENTENCE_UNITS = 60;
const MAIL_UNITS = 40;

/** `creds: mika / Raufaser_19`. */
const USER_AND_PASSWORD =
  /(?:\s[\p{L}\d'’.-]{1,20}){0,4}?(?:\s{0,2}(?:[:=–—→-]{1,2}>?|are|is|sind|sont|son|são|sono|to)\s{1,2}|\s\()(?:[\p{L}\d.:-]{4,64}(?:\s\/\s|,\s))?[\p{L}\d._@-]{2,40}(?:\s\/\s|:|\/|\s\|\s)([^\s/|,;:"'<>(){}[\]]{6,64})(?![^\s,.;!?)])/uy;

/** "sunny-side-up", which a network's key may be. */
const NETWORK_KEY = /^[a-z]+(?:[-_.][a-z\d]+)+$|^[a-z]{8,}\d+$/;

const PAIR_BEHIND = /:?\s{1,2}["'“„«]?[\p{L}\d._@-]{2,40}["'”“»]?\s\/\s([^\s/|,;:"'<>(){}[\]]{6,40})(?=[\s.,;!?)]|$)/uy;

/** "Anmeldung Hannah / Sommer-07": user and password after the word. */
function pairBehind(text: string, end: number): Span | null {
  const written = matchAt(PAIR_BEHIND, text, end)?.[1];
  const password = written?.replace(/[.?!]$/, "");
  if (written === undefined || password === undefined || !looksChosen(password)) return null;
  const at = PAIR_BEHIND.lastIndex - written.length;
  return { start: at, end: at + password.length };
}

const LONGEST_PAIR = 88;
const PAIR_IN_FRONT =
  /(?<![^\s"'(])[\p{L}\d._@-]{2,40}\s\/\s([^\s/|,;:"'<>(){}[\]]{6,40})(?:\s[\p{L}.'’-]{1,20}){0,4}\s$/u;

/** "… sich mit hausmeister / Besenkammer3 am Portal anmelden": the verb stands after both. */
function pairInFront(text: string, start: number): Span | null {
  const from = Math.max(0, start - LONGEST_PAIR);
  const before = text.slice(from, start);
  if (!before.includes(" / ")) return null;
  const match = PAIR_IN_FRONT.exec(before);
  const password = match?.[1];
  if (match === null || password === undefined || !mayBeOne(password)) return null;
  const at = from + match.index + match[0].indexOf(password, match[0].indexOf(" / "));
  return { start: at, end: at + password.length };
}

/** The check for words that come with a user's name: a password may follow somewhere after them. */
export function accountSecret(text: string, start: number, end: number): Hit | null {
  spend(SENTENCE_UNITS);
  const paired = matchAt(USER_AND_PASSWORD, text, end)?.[1];
  const isOfNetwork = /^(?:wi-?fi|wlan|ssid|eduroam)$/i.test(text.slice(start, end));
  if (paired !== undefined && (mayBeOne(paired) || (isOfNetwork && NETWORK_KEY.test(paired))))
    return hitOf("generic_credential", USER_AND_PASSWORD.lastIndex - paired.length, USER_AND_PASSWORD.lastIndex);
  const said = saidSecret(text, start, end, "account") ?? pairBehind(text, end) ?? pairInFront(text, start);
  return said && hitOf("generic_credential", said.start, said.end);
}

const RESET =
  /[ \t:]{1,3}(?:\p{L}{1,12}['’]?:?[ \t]){0,7}?["'“„«‘「]?((?=\S{0,64}\d)[\p{L}\d!#$%&*+.=?@_~-]{6,64})(?=["'”“»’」]?(?:[\s.,;!?)。，、]|$))/uy;
const RESET_IN_FRONT =
  /[ \t]["'“„«‘「]?([\p{L}\d!#$%&*+.=?@_~-]{6,64})["'”“»’」]?(?:[ \t]?(?:olarak|に|로|으로))?[ \t]?$/u;
const HAS_LOGIN = new WordSet(SECRET_WORDS["what has a login"], () => "anywhere");
const REACH_OF_LOGIN = 64;

/**
 * `Mum's mail was hacked, I reset it to Geranium-and-2-Cats`: the new password, on either side of the account's name.
 */
export function resetSecret(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  if (!hasDigit(text, start - REACH_OF_LOGIN, end + REACH_OF_LOGIN)) return null;
  spend(SENTENCE_UNITS * 4);
  const from = Math.max(0, start - REACH_OF_LOGIN);
  const before = text.slice(from, start);
  if (!HAS_LOGIN.isIn(text.slice(from, end + REACH_OF_LOGIN))) return null;
  const behind = matchAt(RESET, text, end)?.[1];
  const inFront = RESET_IN_FRONT.exec(before);
  const last = RESET.lastIndex;
  const isBehind = behind !== undefined && isReset(behind, isJoint(text.slice(start, last - behind.length)));
  const written = isBehind ? behind : inFront?.[1];
  if (written === undefined || !isReset(written, true)) return null;
  const at = isBehind ? last - written.length : from + before.lastIndexOf(written);
  return hitOf("generic_credential", at, at + written.length);
}

/** After a word for "to", a name with a number suffices when a sign joins them: "Valkommen.31". */
const NUMBERED_NAME = /^\p{Lu}\p{L}{3,}[._!-]\d{2,4}$/u;

function isReset(written: string, isJoined: boolean): boolean {
  const password = written.replace(/[.,!?]$/, "");
  return (
    /\d/.test(password) && (looksChosen(password) || (isJoined && NUMBERED_NAME.test(password) && mayBeOne(password)))
  );
}

const SLASHED = /["'`]?[ \t]?\/[ \t]["'`]?([^\s/|,;:"'`<>(){}[\]]{6,40})(?=["'`]?(?:[\s.,;!?)]|$))/y;

const JOINED = /\/([^\s/|,;:"'`<>(){}[\]\\]{6,40})(?=["'`]?(?:[\s,;!?)]|\.?$|\.\s))/y;

/** `admin/Password!2019`: without spaces, the password must have a form that no part of a path has. */
function joined(text: string, start: number, end: number): string | undefined {
  if (!/[\s"'(:]/.test(text[start - 1] ?? " ")) return undefined;
  const written = matchAt(JOINED, text, end)?.[1];
  return written !== undefined && /^\p{Lu}(?=.*\d)(?:[^.]*[!#$%^&*+=?~@]|\p{Ll}{3,}\d{3,}[!?]?$)/u.test(written)
    ? written
    : undefined;
}

/** `Grafana: admin / c0ffee-Grinder`, at the user. */
export function slashedSecret(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  const written = matchAt(SLASHED, text, end)?.[1] ?? joined(text, start, end);
  const password = written?.replace(/[.?!]$/, "");
  if (written === undefined || password === undefined || !looksChosen(password)) return null;
  if (text[end] === "/" && text[end + 1] !== " ")
    return hitOf("generic_credential", end + 1, end + 1 + password.length);
  const at = SLASHED.lastIndex - written.length;
  return hitOf("generic_credential", at, at + password.length);
}

/** The check for words for a locked file, near which its password is said. */
export function lockedSecret(text: string, start: number, end: number): Hit | null {
  spend(SENTENCE_UNITS);
  const said = saidSecret(text, start, end, "locked");
  return said && hitOf("generic_credential", said.start, said.end);
}

const UNLOCKING = /[ \t:]{1,3}(?:\p{L}{1,10}[ \t]){0,2}["'“„«‘「]?([\p{L}\d!#$%&*+.=?@_~-]{6,64})/uy;

/** `the laptop unlocks with Arsenal1886`: the password after the verb. */
export function unlockingSecret(text: string, _start: number, end: number): Hit | null {
  spend(SENTENCE_UNITS);
  const said = matchAt(UNLOCKING, text, end)?.[1];
  const password = said?.replace(/[.,?]+$/, "");
  if (said === undefined || password === undefined || !mayBeOne(password)) return null;
  const at = UNLOCKING.lastIndex - said.length;
  return hitOf("generic_credential", at, at + password.length);
}

const REACH_BEFORE = 56;

/** `to open the zip, type Vendanges2021`: the password to type, after the thing that it opens. */
export function typedSecret(text: string, start: number, end: number): Hit | null {
  spend(CHECK_UNITS);
  if (!hasDigit(text, end, end + MOST_TYPED)) return null;
  spend(TYPED_UNITS);
  const found = unlockingSecret(text, start, end);
  const before = text.slice(Math.max(0, start - REACH_BEFORE), start);
  return found !== null && saysOpening(before.slice(before.lastIndexOf("\n") + 1)) ? found : null;
}

const CHECK_UNITS = 10;
const TYPED_UNITS = 250;
const MOST_TYPED = 72;

const LISTED_MAIL =
  /[\w.-]{1,64}\.[a-z]{2,12}([ \t]?[:;|][ \t]?|[ \t]\/[ \t]|,[ \t]|[，、][ \t]?|[ \t](?:with|mit|avec|con|com|met|med|z|s|с|з|με|és|and|und|et|y|e)[ \t])([^\s:;|,/"'<>]{6,48})(?=[ \t.,;)"']{0,2}(?:\n|$))/y;

const USING_MAIL =
  /[\w.-]{1,64}\.[a-z]{2,12}\)?[ \t](?:(?:still|now|immer noch|jetzt)[ \t])?(?:uses|has|accepts|takes|with|nutzt|hat|mit|avec|utilise|con|usa|com|met|gebruikt|z|używa|s|с|з|med|har|ile)[ \t]["'“„«]?([^\s"'“”„«»<>]{6,48})/y;

/** `the shared mailbox (billing@mailbox.org) uses Gr8Lakes!Trout`: a word that can only be a password. */
function passwordOfMail(text: string, end: number): Hit | null {
  const written = matchAt(USING_MAIL, text, end)?.[1];
  const password = written?.replace(/[.,;:)]+$/, "");
  if (written === undefined || password === undefined || !/[!#$%^&*+=?~]./.test(password) || !looksChosen(password))
    return null;
  const at = USING_MAIL.lastIndex - written.length;
  return hitOf("generic_credential", at, at + password.length);
}

/**
 * `ann@mailbox.org:Raufaser19`, as in lists of accounts; at the `@`. Without a colon, the value must look like a
 * password.
 */
export const mailAndPassword: Check = (text, _start, end) => {
  spend(MAIL_UNITS);
  const match = matchAt(LISTED_MAIL, text, end);
  if (match === null) return passwordOfMail(text, end);
  const [, tie = "", written = ""] = match;
  const password = written.replace(/[.,;)]+$/, "");
  const isListed = !/[;|]|^\s\p{L}/u.test(tie);
  if (!looksChosen(password) && !(isListed && (mayBeOne(password) || isShortOne(password)))) return null;
  const at = LISTED_MAIL.lastIndex - written.length;
  return hitOf("generic_credential", at, at + password.length);
};
