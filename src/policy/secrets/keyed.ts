/** Secrets that a word announces: passwords, keys and tokens in an assignment or a sentence. */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { matchAt, matchEnd } from "../text/ascii.ts";
import { isInResourceName } from "../text/identifier.ts";
import { cellsBelow } from "../text/table.ts";
import { type Assigned, valueAfter } from "./assignment.ts";
import { isDefined, isLogin, isMeant, isOneWord } from "./meant.ts";
import { ordinaryPassword } from "./ordinary.ts";
import { passwordNumber } from "./pin.ts";
import {
  distinct,
  isGibberish,
  isMangled,
  isPlaceholder,
  isUuid,
  looksLikePassword,
  looksRandom,
  mentionsPassword,
  wordShare,
} from "./plausible.ts";
import { isClear, isJoinedWords, looksChosen, plainSecret, saidSecret, saysRule, THING } from "./sentence.ts";

/** What is announced decides how strong the value must look. */
type SecretWord = "password" | "key";

const LONGEST_NAME_REST = 40;
const NAME_REST = /[A-Za-z0-9_-]{0,40}/y;
/** Endings that turn a secret's name into the name of something else. */
const HARMLESS_REST =
  /^(?:s(?![a-z])|s?[-_]?id(?![a-z])|[-_]?(?:stmt|through|thru|on[A-Z])|[-_]?(?:file|path|url|uri|name|type|len|length|size|count|limit|max|min|polic|field|expir|ttl|time|date|age\b|at\b|ref|reset|manage|version|format|regex|pattern|valid|schema|provider|store\b|storage|service|endpoint|class|prompt|hint|label|placeholder|input|require|enable|strength|algo|alias|usage|location|dir|env|index|mgr|manager|param|issuer|audience|scope|rotation|generat|error|msg|message|help|text\b|title|desc|list|cache|price|cost|budget|rate|per\b|used|total|protect|less|ize|holder|s_|id\b|_id|source|exchange|bucket|owner|status|state|changed|updated|created|last|is_|mode|flow|page|view|model|component|form|box|checker|encoder|hasher|digest\b|hash\b))/i;
/** Beginnings that make a key or token public. */
const HARMLESS_BEFORE =
  /(?:^|[^a-z])(?:public|primary|foreign|partition|sort|publishable|next.?page|page|continuation|cancel\w*|design|idempotency|cache|csrf|xsrf|unique|composite|hash|range|prompt|completion|total|input|output|no|non|palabras?|forgot|reset|wrong|incorrect|invalid|(?:num|max|min)(?=[-_]))[-_ ]?$/i;
const LONGEST_BEFORE = 16;
/** What looking for a value costs, and what judging one costs. */
const ASSIGNMENT_UNITS = 200;
const VALUE_UNITS = 600;
const SENTENCE_UNITS = 60;
const COLUMN_UNITS = 80;
const LONGEST_ELEMENT = 400;
const SHORTEST_PASSWORD = 5;
const LONGEST_PASSWORD = 128;
const SHORTEST_KEY = 10;
/** Of eight or nine characters: capitals, small letters and digits, changing often. */
const SHORT_KEY =
  /^(?=(?:.*\d){2})(?=(?:.*[a-z]){2})(?=.*[A-Z])(?=(?:.*(?:[A-Za-z]\d|\d[A-Za-z])){3})[A-Za-z0-9]{8,9}$/;
const SHORTEST_DIGIT_KEY = 14;
/** A key that nothing but a space ties to its name must be this long. */
const SHORTEST_KEY_BESIDE = 16;

/** The check for a word that announces such a secret: looks at what the word that spans `[start, end)` announces. */
export function announcedSecret(word: SecretWord): Check {
  return (text, start, end) => {
    // Behind a word of another script no name goes on.
    const nameEnd = text.charCodeAt(end - 1) < 0x80 ? matchEnd(NAME_REST, text, end) : end;
    const rest = text.slice(end, nameEnd);
    if (rest !== "" && HARMLESS_REST.test(rest) && !(word === "password" && rest === "s")) return null;
    if (HARMLESS_BEFORE.test(text.slice(Math.max(0, start - LONGEST_BEFORE), start))) return null;
    spend(ASSIGNMENT_UNITS);
    if (isInResourceName(text, start)) return null;
    const value = valueAfter(text, nameEnd);
    if (value !== null && isNothing(text, value)) return null;
    // An option takes its value without an operator.
    if (value?.link === "beside" && text.startsWith("--", start - 2)) value.link = "assigned";
    const found =
      value === null
        ? (compared(text, word, start, nameEnd) ?? given(text, word, start, nameEnd))
        : tied(text, word, start, end, value);
    if (found !== null) return found;
    const ordinary = ordinaryPassword(text, start, nameEnd, word);
    if (ordinary !== null) return hitOf("generic_credential", ordinary.start, ordinary.end);
    // What is assigned is no secret; behind a comma the sentence goes on.
    if (value?.link === "assigned" && text[nameEnd] !== ",")
      return second(text, value) ?? inElement(text, value, word) ?? inColumn(text, start, nameEnd, word);
    // "if you pass someOption": a verb.
    if (text.slice(start, end).toLowerCase() === "pass" && !NOUN_BEFORE.test(text.slice(Math.max(0, start - 8), start)))
      return inColumn(text, start, nameEnd, word);
    spend(SENTENCE_UNITS);
    const said =
      (word === "password" ? plainSecret(text, start, nameEnd) : null) ?? saidSecret(text, start, nameEnd, word);
    if (said !== null) return hitOf("generic_credential", said.start, said.end);
    return inColumn(text, start, nameEnd, word) ?? (word === "password" ? passwordNumber(text, start, nameEnd) : null);
  };
}

/** "la pass del router": what makes a noun of the word. */
const NOUN_BEFORE = /(?:^|\s)(?:la|el|le|the|my|mi|tu|su|mon|ta|our|new|wifi|il|lo|das|da|i)\s$/i;

/** `"token": null`: there is no value, so there is nothing more to look at. */
const isNothing = (text: string, { start, end, link }: Assigned): boolean =>
  link === "assigned" &&
  ((end - start <= LONGEST_NOTHING && /^(?:null|none|nil|true|false)$/i.test(text.slice(start, end))) ||
    // `${NAME:?message}` of a shell.
    /:[?+]$/.test(text.slice(start - 1, start + 1)));
const LONGEST_NOTHING = 5;

function tied(text: string, word: SecretWord, start: number, end: number, value: Assigned): Hit | null {
  const secret = text.slice(value.start, value.end);
  if (
    value.link === "beside" &&
    end - start <= 4 &&
    text.charCodeAt(start) < 0x80 &&
    isArgument(secret, text[value.end]) &&
    !(value.quoted && isMeant(text, start, end, value))
  )
    return null;
  if (isInList(text, start, end, value)) return null;
  // A member of its own inside a call: the id of a secret that is stored elsewhere.
  if (/id["']?\s{0,3}[:=]\s{0,3}["']?$/i.test(text.slice(Math.max(0, value.start - 12), value.start))) return null;
  spend(VALUE_UNITS + 5 * secret.length);
  if (word === "password" && isLogin(text, start, secret, value)) {
    return hitOf("connection_string", value.start, value.end);
  }
  if (word === "password" && isMeant(text, start, end, value))
    return hitOf("generic_credential", value.start, value.end);
  if (word === "key" && isMeantAsSecret(text, start, end, value))
    return hitOf("generic_credential", value.start, value.end);
  if (word === "password" && isNameSaid(text, end, value)) return hitOf("generic_credential", value.start, value.end);
  return isSecret(secret, word, value) ? hitOf("generic_credential", value.start, value.end) : null;
}

const GIVEN = /\(\s{0,3}(["'`])([^"'`\n]{4,80})\1\s{0,3}[,)]/y;
const SETTER = /(?:^|[^A-Za-z])(?:set|with|use|change|update)(?:[A-Z_]\w{0,24})?_?$/;

/** The literal that a call is given: `setPassword("mince.tatties")`; to a function that only compares, what looks the part. */
function given(text: string, word: SecretWord, start: number, nameEnd: number): Hit | null {
  if (word !== "password" || text[nameEnd] !== "(") return null;
  const value = matchAt(GIVEN, text, nameEnd)?.[2];
  if (value === undefined || isPlaceholder(value) || mentionsPassword(value)) return null;
  const at = text.indexOf(value, nameEnd);
  const place: Assigned = { start: at, end: at + value.length, link: "assigned", quoted: true, copula: false };
  const isSet = SETTER.test(text.slice(Math.max(0, start - LONGEST_NAME_REST), start)) && isOneWord(value);
  return isSet || isPassword(value, place) ? hitOf("generic_credential", place.start, place.end) : null;
}

const NAME_SAID = /^\p{Lu}\p{Ll}{4,}$/u;
const CLAUSE_END = /[ \t]{0,2}(?:[.,;!?)\n"'…]|$)/y;

/** "The password is Kohlmeise.": a capital where only a name has one; in German, where all nouns have, behind "lautet". */
function isNameSaid(text: string, end: number, { start: at, end: last, link, quoted }: Assigned): boolean {
  if (link !== "said" || quoted || matchEnd(CLAUSE_END, text, last) < 0) return false;
  const said = text.slice(at, last);
  const gap = text.slice(end, at);
  if (!NAME_SAID.test(said) || STATE.test(said) || isPlaceholder(said) || saysRule(gap)) return false;
  return !/(?:^|\s)(?:ist|wurde|wird|on|now|be|are|equals|e|az|\p{Lu}\p{Ll}{0,9})\s{1,3}$|[.!?]\s/u.test(gap);
}

/** "pass zip64", "pass `v2: true`": a short word is a verb more often, and this is what it is said of. */
const isArgument = (value: string, next: string | undefined): boolean =>
  /^[A-Za-z]+$|^[a-z]+(?:_[a-z\d]*)*\d*$|[\s(]|\*$/.test(value) || next === "`";

/** `'password' | 'one-time-code'`, `"md5", "password", "scram-sha-256"`: names of a list, of which the word is one. */
function isInList(text: string, start: number, end: number, { start: at, end: last, link }: Assigned): boolean {
  if (link !== "assigned") return false;
  const sign = /^["'`]?\s{0,4}([,|])\s{0,12}(["'`]?)$/.exec(text.slice(end, at));
  if (isDefined(text, start) || sign === null || !/^[A-Za-z][a-z]*(?:[-_][a-z\d]+)*\d?$/.test(text.slice(at, last)))
    return false;
  if (sign[1] === "," && !/["'`]/.test(text[start - 1] ?? "")) return true;
  return !/[({=]\s{0,2}["'`]?$/.test(text.slice(Math.max(0, start - LONGEST_BEFORE), start)) || sign[1] === "|";
}

/** Names whose value is a secret of one's own making, and of all names of secrets. */
const OWN_SECRET =
  /(?:jwt|session|app|cookie|flask|django|rails|sign\w*|hmac|crypt\w*|auth)[\w.({ -]{0,12}secret|secret[-_ ]?key/i;
const SECRET = /secret|geheim|segre[dt]o/i;
const PHRASE = /^[a-z]{1,12}(?:[ -][a-z\d]{1,12}){2,7}$/;

/** `JWT_SECRET_KEY = "nachtigall-lied-44"`, `secret: Rotschenkel-31`: made up by a person. */
function isMeantAsSecret(
  text: string,
  start: number,
  end: number,
  { start: at, end: last, link, quoted }: Assigned,
): boolean {
  if (link === "beside" || (link === "said" && !quoted)) return false;
  if (last - at < SHORTEST_KEY || last - at > LONGEST_PASSWORD) return false;
  const name = text.slice(Math.max(0, start - LONGEST_BEFORE), end + LONGEST_BEFORE);
  const value = text.slice(at, last);
  if (!SECRET.test(name) || isPlaceholder(value) || mentionsPassword(value)) return false;
  if (/[A-Z]/.test(value) && /\d/.test(value) && looksChosen(value)) return true;
  const isSetting = quoted || /^[A-Z_]+$/.test(text.slice(start, end));
  return isSetting && OWN_SECRET.test(name) && PHRASE.test(value) && /\d/.test(value);
}

const SECOND = /["'`]?\s{0,2}[/|,;]\s{0,2}["'`]?([^\s"'`,;]{6,64})/y;

/** The second of two values: "user and password: jsmith / Gr33nTea!9". */
function second(text: string, { end }: Assigned): Hit | null {
  const value = matchAt(SECOND, text, end)?.[1]?.replace(/[.,;:)]+$/, "");
  if (value === undefined || !isClear(value)) return null;
  const at = text.indexOf(value, end);
  return hitOf("generic_credential", at, at + value.length);
}

/** The words in an element of XML: `<secret>{name AQAA 4AYm3wz7nfnX7Bqt}</secret>`. */
function inElement(text: string, { start }: Assigned, word: SecretWord): Hit | null {
  if (word !== "key" || !text.slice(Math.max(0, start - 3), start).includes(">")) return null;
  const element = text.slice(start, start + LONGEST_ELEMENT);
  const close = element.indexOf("<");
  if (close < 0) return null;
  for (const { 0: run, index } of element.slice(0, close).matchAll(/[^\s{}]{16,}/g)) {
    if (isSecret(run, word, { start, end: start + close, link: "assigned", quoted: true, copula: false }))
      return hitOf("generic_credential", start + index, start + index + run.length);
  }
  return null;
}

/** The first secret in the column of a table whose name the word is. */
function inColumn(text: string, start: number, end: number, word: SecretWord): Hit | null {
  spend(COLUMN_UNITS);
  for (const cell of cellsBelow(text, start, end)) {
    const value = text.slice(cell.start, cell.end);
    if (
      !/\s|^[a-z]+(?:[-_][a-z]+)*$/.test(value) &&
      isSecret(value, word, {
        ...cell,
        link: "assigned",
        quoted: /["'`]/.test(text[cell.start - 1] ?? ""),
        copula: false,
      })
    )
      return hitOf("generic_credential", cell.start, cell.end);
  }
  return null;
}

function isSecret(value: string, word: SecretWord, tie: Assigned): boolean {
  if (tie.link === "assigned" && isMangled(value)) return true;
  const plausible = word === "password" ? isPassword(value, tie) : isKey(value, tie);
  // The most expensive check comes last.
  return plausible && !isPlaceholder(value) && !PASSWORD_HASH.test(value);
}

const NAME_OF_ONE = /^(?:[A-Z][A-Z0-9]*_)*(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|KEY)(?:_[A-Z0-9]+)*$/;

function isPassword(value: string, { link, quoted, copula }: Assigned): boolean {
  if (value.length < SHORTEST_PASSWORD || value.length > LONGEST_PASSWORD) return false;
  // A regular expression about passwords, or a name in a program.
  if (/\\[sSwWdDb][*+?{\])]|\(\?[:=!]|\[\^|\]\)?[*+{]/.test(value)) return false;
  if (isJoinedWords(value) && (quoted || link !== "assigned" || !/\./.test(value) || /\d$/.test(value))) return true;
  if (!quoted && /^[A-Za-z_]\w*(?:[.&|]\w+)+$/.test(value) && wordShare(value) > 0.4 && !/[&|].*\d$/.test(value))
    return false;
  // The name of a variable: of the environment, or the next of a list.
  if (NAME_OF_ONE.test(value) || (!quoted && /^[a-z]+(?:[A-Z][a-z]+)*Password\d{0,2}$/.test(value))) return false;
  // `!!passThrough`, `**self.conn_kw`: of a program.
  if (!quoted && /^(?:!{1,2}|\*{1,2}|&)[A-Za-z_$][\w$.]*$/.test(value) && wordShare(value) > 0.5) return false;
  // `#define BLEND_PASS 0x0B96`: a constant.
  if (/^0x[0-9a-f]{1,8}$/i.test(value)) return false;
  if (/^\w+:\/\//.test(value) || /^[a-z]{2}_[A-Z]{2}\./.test(value)) return false;
  // The name of a type.
  if (!quoted && /^(?:[A-Z][a-z]+\d?){3,}$/.test(value)) return false;
  // A selector; the next argument of a call.
  if (/^[#.][a-z]+(?:-[a-z]+)*$/.test(value)) return false;
  if (!quoted && /^[a-z_]\w*=/i.test(value) && !/^(?=.*\d)(?=.*[A-Z])\w{12,}=$/.test(value)) return false;
  // `password=~/.docker/pw`: where it is.
  if (/^~?\.{0,2}\/[\w.]/.test(value)) return false;
  if (quoted && /^[a-z]+\.[a-z]+\d+$/.test(value)) return true;
  if (link === "beside") return !quoted ? strongPassword(value) : looksLikePassword(value);
  if (/\s/.test(value))
    return (
      quoted &&
      !saysRule(value) &&
      /\d/.test(value) &&
      value.split(/\s+/).length <= (copula ? 8 : 4) &&
      !/[.:,]\s/.test(value)
    );
  if (copula && quoted && /^[\w!@#$%&*+-]{5,}$/.test(value) && !STATE.test(value)) return true;
  return link === "said" && !quoted ? strongPassword(value) : looksLikePassword(value);
}

function isKey(value: string, { link, quoted }: Assigned): boolean {
  if (/^\d+$/.test(value)) return link === "assigned" && value.length >= SHORTEST_DIGIT_KEY && distinct(value) >= 5;
  if (
    value.length < (link === "beside" ? SHORTEST_KEY_BESIDE : SHORTEST_KEY) &&
    !(link === "assigned" && SHORT_KEY.test(value))
  )
    return false;
  if (!(quoted && value.length >= SHORTEST_KEY_BESIDE ? /^[\x21-\x7e]+$/ : /^[\w+/=.~:|*!@#$%^&-]+$/).test(value))
    return false;
  if ((JOINED_WORDS.test(value) && wordShare(value) > 0.4) || /^0x[0-9a-f]{1,16}$/i.test(value)) return false;
  if (/^[A-Z]+(?:_[A-Z]+)+$/.test(value) || /^https?:|^[./~]|^[\w-]+\.[\w-]+\.(?:com|io|net|org)\b/i.test(value))
    return false;
  if (isUuid(value)) return link === "assigned";
  return looksRandom(value) && !isCode(value, quoted);
}

/** A name of many parts: "my-plugin--access-key-2". */
const JOINED_WORDS =
  /^(?:[a-z]{2,}\d?|\d{1,2}|[a-z]\d?[a-z]+\d?)(?:[-_]{1,2}(?:[a-z]{2,}\d?|[a-z]\d|\d{1,2}|[a-z]\d?[a-z]+\d?)){3,}$/;

/** A stored hash is not the password: bcrypt, crypt, argon2. */
const PASSWORD_HASH = /^\$(?:2[abxy]|[156]|argon2\w{1,2}|scrypt|pbkdf2[\w-]*)\$/;

/** What is said of a password in a message. */
const STATE =
  /^(?:required|invalid|incorrect|wrong|weak|expired|empty|missing|correct|strong|hidden|valid|changed|reset|blank|encrypted|hashed|optional|secure|unsafe|short|long|secret|string|text|needed|provided|not[-_]\w+|password\w*|erforderlich|falsch|obligatoire|requis|requerid[ao]|incorrect[ao]|obrigatóri[ao]|richiesta|errata|verplicht|wymagane)$/i;

/** In a sentence a password must show a digit or a sign, or be no word at all. */
function strongPassword(value: string): boolean {
  if (/^[a-z\d_-]+(?:\/[a-z\d_-]+)+$/.test(value)) return false;
  if (!looksLikePassword(value) || /^\W*$/.test(value)) return false;
  // Three-letter sequences are those of a few languages, but every language has vowels.
  if (/^[A-Za-z]+$/.test(value)) return value.length >= 8 && isGibberish(value) && !hasVowels(value);
  if (THING.test(value)) return false;
  return /\p{L}/u.test(value) && (/\d/.test(value) || /[!@#$%^&*?]/.test(value.slice(0, -1)) || value.includes("-"));
}

const hasVowels = (value: string): boolean => (value.match(/[aeiouy]/gi)?.length ?? 0) > value.length / 5;

/** An unquoted name, path or call rather than a literal. */
function isCode(value: string, quoted: boolean): boolean {
  if (quoted || !/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$/.test(value)) return false;
  return !/\d/.test(value) || /\.[A-Z][A-Z0-9_]*$/.test(value) || wordShare(value) > 0.3;
}

const COMPARED = /(["'`])([^"'`\n]{6,80})\1\s{0,3}[!=]={1,2}\s{0,3}[\w.]{0,30}$/;
const LONGEST_COMPARISON = 120;

/** The literal that the name is compared with: `"…" != password`. */
function compared(text: string, word: SecretWord, start: number, end: number): Hit | null {
  const from = Math.max(0, start - LONGEST_COMPARISON);
  const before = text.slice(from, start);
  if (!before.includes("=")) return null;
  const match = COMPARED.exec(before);
  if (!match || end - start > LONGEST_NAME_REST) return null;
  const literal = match[2] as string;
  const secret = word === "password" ? looksLikePassword(literal) : looksRandom(literal) || looksLikePassword(literal);
  if (!secret || /^\*+$|^<.*>$/.test(literal)) return null;
  const at = from + match.index + 1;
  return hitOf("generic_credential", at, at + literal.length);
}
