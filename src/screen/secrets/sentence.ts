/**
 * Secrets in sentences: "they set the root password to …", "What is the wifi password? It's …", "use … as password".
 * The words between name and value are many, so the value must look like a password, the more so the farther it is
 * away.
 */
import { spend } from "../check.ts";
import { isDigit, isLetter } from "../text/ascii.ts";
import { WordSet } from "../text/word-set.ts";
import { anyOf } from "../words/lists.ts";
import { isJoint, isNearCopula } from "./joint.ts";
import { isPlaceholder, looksRandom, wordShare } from "./plausible.ts";
import { SENTENCE_WORDS } from "./sentence-words.ts";

export interface Span {
  start: number;
  end: number;
}

/** How far from the name a value is looked for. */
const REACH = 96;
const REACH_BEFORE = 56;
const MOST_SENTENCE_ENDS = 2;
const SHORTEST = 6;
const LONGEST = 128;
const SHORTEST_KEY = 16;

const JOINT_IN_FRONT = new RegExp(
  `^["'\`”“»’」』]{0,2},?\\s?(?:${anyOf(SENTENCE_WORDS["joints in front"])})(?![\\p{Ll}])[^.!?\\n:]{0,24}$`,
  "iu",
);
/** `"…" -> that's the admin password`, `… (the admin password)`. */
const SIGN_IN_FRONT =
  /^["'`”“»’]{0,2}(?:\s?(?:[-=]>|→|⇒|←|[–—])\s?|\s\()(?:(?:that's|that is|this is|it's|das ist|c'est|eso es|è|é|to|это|це)\s)?(?:\p{L}{1,12}\s){0,3}$/iu;
/** After the value, in languages whose verbs stand there: "…に変えました", "… yaptım". */
const JOINT_BEHIND =
  /^["'”』」]?\s?(?:に(?:変|し|設定|なり)|(?:으)?로 ?(?:바|변경|설정|했)|(?:olarak )?(?:yap|değiş|ayarla|sıfırla|yaz|gir|kullan)|कर (?:दि|ली)|रख (?:दि|ली)|डाल|लिख|を ?入力|を使|를? ?입력|을? ?입력|를? ?쓰|(?:nehmen|verwenden|eingeben|benutzen|nutzen)(?!\p{L}))/u;
/** The first words of an answer: "Try …", "I think it was …". */
const ANSWER =
  /(?:[?？؟；]|\p{Script=Greek}[^;\n]{0,40};)["'”»]?\s{0,2}(?:[-–—→>:]{1,2}\s{1,2}|(?<=\s|[？؟；]))["'“«„]?(?:[\p{L}'’]{1,12}[\s:,]{1,2}){0,3}["'“«„]?$/u;
const ASKED = /[?？؟；;]/;
const isAnswer = (gap: string): boolean => ASKED.test(gap) && ANSWER.test(gap);
/** "Which password? hedgehog5": the answer to such a question may be a shorter password. */
const SHORT_ANSWER = /^\p{L}{3,24}[-_.]?\d{1,6}[!?]?$/u;
const RULE = new RegExp(`(?<![\\p{L}\\p{M}])(?:${anyOf(SENTENCE_WORDS.rules)})(?![\\p{Ll}])`, "iu");
/** Whether a text speaks of rules for passwords, or of examples. */
export const saysRule = (text: string): boolean => RULE.test(text);

/** The characters of a value: Latin, Greek and Cyrillic letters, digits and signs, without the quotes around it. */
const TOKEN = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}0-9!#$%&*+./:=?@\\^_|~§€£-]+/gu;
const OPENED = /["'`“„«‘「『(]$/;
const CLOSED = /^["'`”“»’」』)]/;

/** How much a token looks like a password that somebody made up. */
const NONE = 0;
/** A word with a number, which is said right after a word for "is" or "to" only. */
const WEAK = 1;
const MIXED = 2;
const CLEAR = 3;

/**
 * Addresses, paths, versions, dates, amounts and names of files; names with a number at the end, such as `server-02`.
 */
const OTHER =
  /:\/\/|^www\.|@[\w-]+\.\w|^[~.]{0,2}\/|^[A-Za-z]:\\|^[^\p{L}\p{N}]*\d[\d.,:/-]*(?:[a-z%€$£°]{0,4}|[ap]m)$|^[vV]?\d+(?:\.\d+)+|\.(?:js|ts|py|go|rs|md|txt|json|ya?ml|com|org|net|io|de|conf|cfg|sh|log|pdf|zip|html?|env)\b|^[a-z]\w*(?:\.[a-z]\w*){2,}|^[a-z]\w*\.[a-z]+_\w+$|^&|[?&]\w+=|^\w+=[\w.]*$|^--?\w|^#\d|^\$[\w{(]|^%\w+%$|^\w+\(|\{\{|\\[dwsb]|^1password$/iu;
const NUMBERED = /^\p{L}+(?:[-_.]\p{L}+)*[-_.]?\d{0,4}[a-z]?$|^\p{Lu}{2,}-?\d+(?:-[\p{L}\d]+)*$|^\d+-\p{L}+$/u;
/** Names of machines, versions and products have numbers, too. */
export const THING =
  /^(?:s?cram|hmac|pbkdf2|aes|rsa|ecdsa|sha)[-_]|^(?:server|host|node|db|web|app|api|vm|pc|srv|box|laptop|desktop|router|switch|nas|dev|prod|staging|test|user|usr|room|line|port|page|step|version|release|python|windows|win|ubuntu|debian|android|ios|iphone|ipad|sha|md|base|utf|oauth|http|ipv|s|ec|k|log|level|phase|stage|argon|bcrypt|scrypt|pbkdf|aes|rsa|hmac|blake|part|chapter|section|table|figure|item|option|field|form|file|group|team|site|zone|region|cluster|env|build|job|task|ticket|issue|order|raum|seite|kapitel|schritt|salle|página|pagina|strona|strana|covid|web|area|mp|h|col|row|var|arg|param)[-_.]?\d+(?:id|i|d|b|s)?(?![\p{L}!#$%^&+=?~@])|^\d+(?:st|nd|rd|th|er|e|º|ª|password|mal|fois|veces|vezes|volte|keer|razy|krát|gånger|gange|ganger)$/iu;
/** A variable for a secret. */
export const NAME_OF_ONE =
  /^[a-z]+(?:[A-Z][a-z]+)*Password\d{0,2}$|^[A-Za-z\d]+(?:_[A-Za-z\d]+)*_(?:[Kk]ey|KEY|[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]assword|PASSWORD)[sS]?(?:_[vV]?\d{1,3})?$/;
const WORD_WITH_NUMBER = /^(?=.{8,40}$)\p{L}+(?:[-_.]?\p{L}+){0,4}[-_.]?\d{1,6}$/u;
/** "Welcome8928": a word and a number that is no year. */
const WORD_AND_NUMBER = /^\p{Lu}\p{Ll}{3,}(?!(?:19|20)\d{2}$)\d{3,}[_#!?]?$/u;
const SIGN = /[!#$%^&*+=?~|§€£]/;
/** "Tramonto@Rimini": no address has a capital and no dot. */
const AT_SIGN = /^\p{Lu}[\p{L}\d]*@[\p{L}\d]+!?$/u;
/** "Sambal_Terasi3", "Popcorn-Fiesta88": capitalised words, a sign between them, and a number. */
const WORDS_AND_NUMBER =
  /^\p{Lu}\p{Ll}{2,}(?:[_.-](?:\p{Lu}\p{Ll}+[_.-]){0,3}\p{Lu}?\p{Ll}{2,}[_.]?|(?:-\p{Lu}\p{Ll}{1,}){1,3}-)\d{1,4}$/u;
/** "Tortilla_Brava", "Elder.Flower.Cordial": words joined as in no sentence and hardly any program. */
const JOINED_WORDS = /^\p{Lu}\p{Ll}{2,}(?:[_.&+*]\p{Lu}\p{Ll}{2,}){1,3}[!?]?$/u;

let lastToken = "";
let lastLooks: 0 | 1 | 2 | 3 = NONE;

/** Returns how the token looks. The result for the last token is remembered, since several conditions need it. */
function looksOf(token: string): 0 | 1 | 2 | 3 {
  if (token !== lastToken) {
    lastLooks = judged(token);
    lastToken = token;
  }
  return lastLooks;
}

function judged(token: string): 0 | 1 | 2 | 3 {
  if (token.length < SHORTEST || token.length > LONGEST || token.includes("/")) return NONE;
  if (OTHER.test(token) && !WORDS_AND_NUMBER.test(token)) return NONE;
  if (!/\p{L}/u.test(token) || THING.test(token) || NAME_OF_ONE.test(token) || isPlaceholder(token)) return NONE;
  const digit = /\d/.test(token);
  const sign = SIGN.test(token.slice(0, -1)) || token.endsWith("!!") || AT_SIGN.test(token);
  if (digit && sign) return CLEAR;
  // A digit in the place of a letter: "Tr4velling", "p0stgres".
  const leet = /\p{Ll}[013457@]\p{Ll}/u.test(token) || /^\p{Lu}[013457]\p{Ll}/u.test(token);
  const closed = /[!#$%*]$/.test(token);
  if (digit && (leet || closed)) {
    const inside = /\p{L}\d+\p{L}/u.test(token);
    return (token.length >= 8 && leet) || (closed && inside) ? CLEAR : MIXED;
  }
  if (sign && /\p{Ll}/u.test(token) && /^[\p{L}-]+[#!$%*&+=?~@]\p{L}+$/u.test(token)) return MIXED;
  if (!digit) return JOINED_WORDS.test(token) ? MIXED : NONE;
  if (WORDS_AND_NUMBER.test(token)) return token.includes("_") ? CLEAR : MIXED;
  if (/\p{Ll}\d+\p{L}|\p{Lu}\p{Ll}+\p{Lu}.*\d/u.test(token) && wordShare(token) < 0.75) return MIXED;
  if (WORD_AND_NUMBER.test(token)) return MIXED;
  if (NUMBERED.test(token)) return numberedLooks(token);
  return MIXED;
}

function numberedLooks(token: string): 0 | 1 | 2 {
  if (/^\p{L}+(?:-\p{L}+)*-\d{2,5}$/u.test(token) && !/^\p{Lu}+-/u.test(token)) return MIXED;
  return WORD_WITH_NUMBER.test(token) && !THING.test(token) && !/^\p{Lu}+-/u.test(token) ? WEAK : NONE;
}

/** Whether somebody seems to have made up a token as a password: no word, no name with a number, no version. */
export const looksChosen = (token: string): boolean => looksOf(token) > WEAK;

/** Whether a token may be a password where one is expected. */
export const mayBeOne = (token: string): boolean => looksOf(token) > NONE;

/** "The key to the API of the weather service": the API that a key belongs to. */
const OF_API = /(?<!\p{L})api(?!\p{L})/iu;

const looksLikeKey = (token: string, gap: string): boolean =>
  token.length >= SHORTEST_KEY &&
  /\d/.test(token) &&
  // A value without other letters is a digest.
  (/[g-zG-Z]/.test(token) || (token.length >= 32 && OF_API.test(gap))) &&
  !/[A-Z]_[A-Z]|=[^=]/.test(token) &&
  !OTHER.test(token) &&
  looksRandom(token) &&
  !isPlaceholder(token);

/** The tokens of `text[from, to)`, without the signs of the sentence around them. */
function* tokensIn(text: string, from: number, to: number): Generator<Span> {
  const stretch = text.slice(from, to);
  for (const { 0: run, index } of stretch.matchAll(TOKEN)) {
    const front = /^[.:/|=&*_-]*/.exec(run)?.[0].length ?? 0;
    const back = /[.:/|,&_-]*\??$/.exec(run)?.[0].length ?? 0;
    const end = run.length - back;
    if (end - front >= SHORTEST) yield { start: from + index + front, end: from + index + end };
  }
}

const isSign = (code: number): boolean => SIGN_CODES[code] === 1;
const AT = 0x40;
const SIGN_CODES = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(SIGN.test(String.fromCharCode(code)) || code === AT),
);

/**
 * Reports whether a run of `text[from, to)` has a letter and a digit or a sign. Rules most stretches out without a
 * pattern.
 */
function mayBeChosen(text: string, from: number, to: number): boolean {
  let letter = false;
  let other = false;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) {
      letter = false;
      other = false;
    } else if (isLetter(code) || code >= 128) letter = true;
    else if (isDigit(code) || code === UNDERSCORE || (code !== EQUALS && isSign(code))) other = true;
    if (letter && other) return true;
  }
  return false;
}

const SPACE = 0x20;
const EQUALS = 0x3d;
const UNDERSCORE = 0x5f;
/** The cost of reading the tokens of a stretch, units. */
const SEARCH_UNITS = 800;

/** The cost of looking at one token, units. */
const GAP_UNITS = 100;
/** The cost of reading the words before a token that looks like a password, units. */
const TOKEN_UNITS = 1_500;

/** Returns a possible secret of a kind, after a name that ends at `end` or before a name that begins at `start`. */
export function saidSecret(
  text: string,
  start: number,
  end: number,
  kind: "password" | "key" | "account" | "locked",
): Span | null {
  const to = Math.min(text.length, end + REACH);
  const isNamed = kind === "password" || kind === "key";
  if (!mayBeChosen(text, end, to)) return isNamed ? inFront(text, start, kind) : null;
  spend(SEARCH_UNITS);
  for (const { start: at, end: last } of tokensIn(text, end, to)) {
    if (last === to && to < text.length) break;
    spend(GAP_UNITS);
    const gap = text.slice(end, at);
    const isApart = gap.includes("\n\n");
    if ((gap.match(/[.!?;।。？！؟]|\n+/g)?.length ?? 0) > MOST_SENTENCE_ENDS) break;
    if (isApart && !(BELOW.test(gap) && ALONE.test(text.slice(last, last + 2)))) break;
    const token = text.slice(at, last);
    if (kind === "key" ? !looksLikeKey(token, gap) : !(isApart ? mayBeOne(token) : fits(token, gap, kind))) continue;
    spend(TOKEN_UNITS);
    if (RULE.test(gap) || RULE.test(text.slice(Math.max(0, start - 24), start))) return null;
    // A bracket that touches a name opens its arguments.
    const isCall = gap.startsWith("(") && text.charCodeAt(end - 1) < 0x80;
    const quoted = !isCall && OPENED.test(gap) && CLOSED.test(text.slice(last, last + 1));
    const joined =
      isJoint(gap) ||
      quoted ||
      isAnswer(gap) ||
      BLANK.test(gap) ||
      (kind === "account" && KEY_AT_END.test(gap)) ||
      isApart ||
      JOINT_BEHIND.test(text.slice(last, last + LONGEST_JOINT)) ||
      (kind === "key" ? OF_API.test(gap) : looksChosen(token) && isNearCopula(gap));
    if (kind === "locked" && !(joined && OPENING.isIn(text.slice(Math.max(0, start - REACH_BEFORE), last + 24))))
      continue;
    if (kind === "account" ? isAccountSecret(token, gap, joined) : joined || (kind === "password" && isClear(token)))
      return { start: at, end: last };
  }
  return isNamed ? inFront(text, start, kind) : null;
}

/** A sign inside, and a capital or a digit: "Copper#Wire". */
const CHOSEN_SIGN = /^(?=.*[\p{Lu}\d]).+[!#$%^&*+=?~|]./u;

/** "The wifi key is mossy-lantern-42", "the login is now Popcorn-Fiesta88". */
const KEY_OF_ACCOUNT = new RegExp(`(?<!\\p{L})(?:${anyOf(SENTENCE_WORDS["keys of networks"])})(?!\\p{Ll})`, "iu");

/** "wifi: net Hejre, kode klit&sand" */
const KEY_AT_END = new RegExp(`${KEY_OF_ACCOUNT.source}\\s$`, "iu");

const isAccountSecret = (token: string, gap: string, joined: boolean): boolean =>
  !gap.includes("\n") &&
  (isClear(token) ||
    (joined &&
      ((looksOf(token) >= WEAK && (KEY_OF_ACCOUNT.test(gap) || CHOSEN_SIGN.test(token))) ||
        WORDS_AND_NUMBER.test(token))));

/** "The password is below.", and then a paragraph of one word. */
const BELOW = /^[^\n]*\n\n[ \t]*$/;
const ALONE = /^(?:[ \t]?\n|$)/;

/** Nothing between, or a bracket. */
const BLANK = /^[ \t]{0,2}$|^[ \t]\($/;

const LONGEST_WEAK_GAP = 40;
const LONGEST_LOCKED_GAP = 64;

/** Words for opening a locked file: "open it with bluebird1987". */
const OPENING = new WordSet(SENTENCE_WORDS["beginnings of opening"], () => "beginning");

/** Whether a text says that something is opened. */
export const saysOpening = (text: string): boolean => OPENING.isIn(text);

/** Whether a token is a word with a number that only its place makes a password. */
export const isShortOne = (token: string): boolean =>
  token.length >= SHORTEST && SHORT_ANSWER.test(token) && !THING.test(token) && !isPlaceholder(token);

function fits(token: string, gap: string, kind: "password" | "account" | "locked"): boolean {
  const looks = looksOf(token);
  if (looks > WEAK) return true;
  if (kind === "password" && isShortOne(token) && isAnswer(gap)) return true;
  if (looks !== WEAK) return false;
  if (kind === "account") return isJoint(gap) && KEY_OF_ACCOUNT.test(gap);
  if (kind === "locked") return gap.length <= LONGEST_LOCKED_GAP;
  return gap.length <= LONGEST_WEAK_GAP && (BLANK.test(gap) || isJoint(gap) || isAnswer(gap));
}

/** "The default password for the user "x" is "y"": said so plainly that any word may be it. */
const PLAIN =
  /^[^.!?\n]{0,64}?(?<!\p{L})(?:is|ist|lautet|est|es|è|é|jest|är|er|on|это)\s{1,2}["'“„«]([^\s"'”“»]{3,40})["'”“»]/u;
const OF_USER = /\bdefault\s(?:\w+\s)?$|^\s(?:for|of)\s(?:the\s)?(?:user|account|login|admin)/i;

/** The value that a sentence about the password of a user says, in quotes. */
export function plainSecret(text: string, start: number, end: number): Span | null {
  const after = text.slice(end, end + REACH);
  const match = PLAIN.exec(after);
  if (match === null || !(OF_USER.test(text.slice(Math.max(0, start - 24), start)) || OF_USER.test(after))) return null;
  const at = end + match[0].length - 1 - (match[1] as string).length;
  return { start: at, end: at + (match[1] as string).length };
}

/** Reports whether a token is words that only a password joins in this way: capitalised, with a sign between them. */
export const isJoinedWords = (token: string): boolean => JOINED_WORDS.test(token) || WORDS_AND_NUMBER.test(token);

export const isClear = (token: string): boolean => looksOf(token) === CLEAR;

const LONGEST_JOINT = 24;

/** "Liman-Isiklari-2024 şifresiyle": the name itself says "with". */
const WITH_IT = /^\p{L}{3,12}(?:[ıi]yla|[ıi]yle|yla|yle)(?!\p{L})/iu;

function inFront(text: string, start: number, kind: "password" | "key"): Span | null {
  const from = Math.max(0, start - REACH_BEFORE);
  if (!/\d/.test(text.slice(from, start))) return null;
  const isPossible = ({ start: at, end: last }: Span) =>
    kind === "key" ? looksLikeKey(text.slice(at, last), "") : mayBeOne(text.slice(at, last));
  const token = Array.from(tokensIn(text, from, start)).findLast(isPossible);
  if (token === undefined || (token.start === from && from > 0)) return null;
  const written = text.slice(token.start, token.end);
  // "Hrom_75x as password": tied so closely, a word with a number will do.
  const isClose = start - token.end <= LONGEST_JOINT;
  const isOne = kind === "key" || looksChosen(written) || isClose;
  if (
    looksChosen(written) &&
    /^["'”’]?\s$/.test(text.slice(token.end, start)) &&
    WITH_IT.test(text.slice(start, start + LONGEST_JOINT))
  )
    return token;
  const gap = text.slice(token.end, start);
  return isOne &&
    (JOINT_IN_FRONT.test(gap) || (isClear(written) && SIGN_IN_FRONT.test(gap))) &&
    !RULE.test(text.slice(from, start))
    ? token
    : null;
}
