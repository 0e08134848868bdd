/** Secrets that a word announces: passwords, keys and tokens in an assignment or a sentence. */
import { type Check, type Hit, hitOf, spend } from "../check.ts";
import { matchAt, matchEnd } from "../text/ascii.ts";
import { isInResourceName } from "../text/identifier.ts";
import { cellsBelow } from "../text/table.ts";
import { type Assigned, valueAfter } from "./assignment.ts";
import { isPassword, isSecret, LONGEST_PASSWORD, type SecretWord, SHORTEST_KEY, STATE } from "./judged.ts";
import { isBehindUser, isDefined, isLogin, isMeant, isOneWord, PAIR_OF_WORDS } from "./meant.ts";
import { endOfMember, mayBeBeside, memberBelow } from "./member.ts";
import { ordinaryPassword } from "./ordinary.ts";
import { passwordNumber } from "./pin.ts";
import { isPlaceholder, looksLikePassword, looksRandom, mentionsPassword } from "./plausible.ts";
import { isClear, looksChosen, plainSecret, saidSecret, saysRule } from "./sentence.ts";

const LONGEST_NAME_REST = 40;
const NAME_REST = /[A-Za-z0-9_-]{0,40}/y;
/** Endings that turn a secret's name into the name of something else. */
const HARMLESS_REST =
  /^(?:s?[-_]?id(?![a-z])|[-_]?(?:stmt|through|thru|on[A-Z])|[-_]?(?:file|command|cmd|path|url|uri|name|type|len|length|size|count|limit|max|min|polic|field|expir|ttl|time|date|age\b|at\b|ref|reset|manage|version|format|regex|pattern|valid|schema|provider|store\b|storage|service|endpoint|class|prompt|hint|label|placeholder|input|require|enable|strength|algo|alias|usage|location|dir|env|index|mgr|manager|param|issuer|audience|scope|rotation|generat|error|msg|message|help|text\b|title|desc|list|cache|price|cost|budget|rate|per\b|used|total|protect|less|ize|holder|s_(?!_?\d|prod|dev|test|stag|live|main|primary|secondary)|id\b|_id|source|exchange|bucket|owner|status|state|changed|updated|created|last|is_|mode|flow|page|view|model|component|form|box|checker|encoder|hasher|digest\b|hash\b|encrypted))/i;
/** Beginnings that make a key or token public. */
const HARMLESS_BEFORE =
  /(?:^|[^a-z])(?:public|primary|foreign|partition|sort|publishable|search.?only|next.?page|next(?=[-_]?$)|page|continuation|cancel\w*|design|idempotency|cache|csrf|xsrf|unique|composite|hash|range|prompt|completion|total|input|output|no|non|palabras?|forgot|reset|wrong|incorrect|invalid|(?:num|max|min)(?=[-_]))[-_ ]?$/i;
const LONGEST_BEFORE = 16;
/** The cost of looking for a value, and of judging one, units. */
const ASSIGNMENT_UNITS = 200;
const VALUE_UNITS = 600;
const SENTENCE_UNITS = 60;
const COLUMN_UNITS = 80;
const LONGEST_ELEMENT = 400;
/**
 * Returns the check for a word that announces a secret of this kind. The check examines the value that the word
 * announces.
 */
export function announcedSecret(word: SecretWord): Check {
  return (text, start, end) => {
    // A word of another script is never the beginning of a longer name.
    const wordEnd = text.charCodeAt(end - 1) < 0x80 ? matchEnd(NAME_REST, text, end) : end;
    const rest = text.slice(end, wordEnd);
    const nameEnd = word === "key" || PLURAL.test(rest) ? endOfMember(text, wordEnd) : wordEnd;
    if (rest !== "" && HARMLESS_REST.test(rest)) return null;
    if (HARMLESS_BEFORE.test(text.slice(Math.max(0, start - LONGEST_BEFORE), start))) return null;
    spend(ASSIGNMENT_UNITS);
    if (isInResourceName(text, start)) return null;
    // Behind the end of an element is something else.
    if (text[nameEnd] === ">" && CLOSING.test(text.slice(Math.max(0, start - LONGEST_NAME_REST), start))) return null;
    const value = valueAfter(text, nameEnd);
    if (value !== null && (isNothing(text, value) || isNextIdentifier(text, start, value))) return null;
    // Several in one pair of quotes: the first one, and the others as the rest of the list.
    if (value?.quoted && PLURAL.test(rest)) value.end = endOfFirst(text, value);
    // An option takes its value without an operator.
    if (value?.link === "beside" && text.startsWith("--", start - 2)) value.link = "assigned";
    const member = memberBelow(text, nameEnd, word);
    if (member !== null) return member;
    if (value?.quoted && isNameOfMember(text, nameEnd, value)) return inColumn(text, start, nameEnd, word);
    if (word === "key" && !mayBeBeside(text, nameEnd, value, PLURAL.test(rest)))
      return inColumn(text, start, nameEnd, word);
    const found =
      value === null
        ? (compared(text, word, start, nameEnd) ?? given(text, word, start, nameEnd))
        : tied(text, word, start, end, value);
    if (found !== null) return found;
    const ordinary = ordinaryPassword(text, start, nameEnd, word);
    if (ordinary !== null) return hitOf("generic_credential", ordinary.start, ordinary.end);
    // The assigned value is not a secret. After a comma, the sentence continues.
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

const PLURAL = /^s$/i;
const FIRST = /[^\s,;|]{10,512}(?=[,;|]?[ \t]*[^\s,;|]{10})/y;

function endOfFirst(text: string, { start, end }: Assigned): number {
  const first = matchEnd(FIRST, text, start);
  return first < 0 ? end : Math.min(first, end);
}

/** `"password": {"changed": …}`: the quotes are those of a member below the label. */
const isNameOfMember = (text: string, nameEnd: number, { start, end }: Assigned): boolean =>
  text.slice(nameEnd, start).includes("{") && /^["']\s{0,3}:/.test(text.slice(end, end + 5));

const CLOSING = /<\/[\w:.-]*$/;

/** "la pass del router": words before that make the word a noun. */
const NOUN_BEFORE = /(?:^|\s)(?:la|el|le|the|my|mi|tu|su|mon|ta|our|new|wifi|il|lo|das|da|i)\s$/i;

/** `"token": null`: there is no value, so there is nothing more to look at. */
const isNothing = (text: string, { start, end, link }: Assigned): boolean =>
  link === "assigned" &&
  ((end - start <= LONGEST_NOTHING && /^(?:null|none|nil|true|false)$/i.test(text.slice(start, end))) ||
    // `${NAME:?message}` of a shell; what Maven encrypted.
    /:[?+]$/.test(text.slice(start - 1, start + 1)) ||
    (text[start - 1] === "{" && text[start - 2] === ">" && text.startsWith("}<", end)));
const LONGEST_NOTHING = 5;

function tied(text: string, word: SecretWord, start: number, end: number, value: Assigned): Hit | null {
  const secret = text.slice(value.start, value.end);
  if (
    value.link === "beside" &&
    end - start <= 4 &&
    text.charCodeAt(start) < 0x80 &&
    isArgument(secret, text[value.end]) &&
    !isMeant(text, start, end, value)
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
  if (word === "password" && isQuotedBeside(text, start, end, value))
    return hitOf("generic_credential", value.start, value.end);
  if (word === "password" && isNameSaid(text, end, value)) return hitOf("generic_credential", value.start, value.end);
  return isSecret(secret, word, value) ? hitOf("generic_credential", value.start, value.end) : null;
}

const GIVEN = /\(\s{0,3}(["'`])([^"'`\n]{4,80})\1\s{0,3}[,)]/y;
const SETTER = /(?:^|[^A-Za-z])(?:set|with|use|change|update)(?:[A-Z_]\w{0,24})?_?$/;

/**
 * The literal that is passed to a call: `setPassword("mince.tatties")`. In a call that only compares, it must look like
 * a password.
 */
function given(text: string, word: SecretWord, start: number, nameEnd: number): Hit | null {
  if (word !== "password" || text[nameEnd] !== "(") return null;
  const value = matchAt(GIVEN, text, nameEnd)?.[2];
  if (value === undefined || isPlaceholder(value) || mentionsPassword(value)) return null;
  const at = text.indexOf(value, nameEnd);
  const place: Assigned = { start: at, end: at + value.length, link: "assigned", quoted: true, copula: false };
  const isSet = SETTER.test(text.slice(Math.max(0, start - LONGEST_NAME_REST), start)) && isOneWord(value);
  return isSet || isPassword(value, place) ? hitOf("generic_credential", place.start, place.end) : null;
}

/** `parolası "ayçiçeği"`: in languages that need no word for "is". */
const isQuotedBeside = (
  text: string,
  start: number,
  end: number,
  { start: at, end: last, link, quoted }: Assigned,
): boolean =>
  link === "beside" &&
  quoted &&
  WITHOUT_COPULA.test(text.slice(start, end)) &&
  matchEnd(CLAUSE_END, text, last + 1) >= 0 &&
  /^[\p{L}\p{M}\d_.-]{5,40}$/u.test(text.slice(at, last)) &&
  !STATE.test(text.slice(at, last)) &&
  !isPlaceholder(text.slice(at, last)) &&
  !mentionsPassword(text.slice(at, last));
const WITHOUT_COPULA = /[\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}ışİŞ]|^jelsz/u;

const NAME_SAID = /^\p{Lu}\p{Ll}{4,}$/u;
const CLAUSE_END = /[ \t]{0,2}(?:[.,;!?)\n"'…]|$)/y;

/**
 * "The password is Kohlmeise.": a capital where only a name has one; in German, where all nouns have, after "lautet".
 */
function isNameSaid(text: string, end: number, { start: at, end: last, link, quoted }: Assigned): boolean {
  if (link !== "said" || quoted || matchEnd(CLAUSE_END, text, last) < 0) return false;
  const said = text.slice(at, last);
  const gap = text.slice(end, at);
  if (!NAME_SAID.test(said) || STATE.test(said) || isPlaceholder(said) || saysRule(gap)) return false;
  return !/(?:^|\s)(?:ist|wurde|wird|on|now|be|are|equals|e|az|\p{Lu}\p{Ll}{0,9})\s{1,3}$|[.!?]\s/u.test(gap);
}

/** "pass zip64", "pass `v2: true`": a short word is more often a verb, and this is its object. */
const isArgument = (value: string, next: string | undefined): boolean =>
  /^[A-Za-z]+$|^[a-z]+(?:_[a-z\d]*)*\d*$|[\s(]|\*$/.test(value) || next === "`";

/** `'password' | 'one-time-code'`, `"md5", "password", "scram-sha-256"`: names in a list that includes the word. */
function isInList(text: string, start: number, end: number, { start: at, end: last, link }: Assigned): boolean {
  if (link !== "assigned") return false;
  const sign = /^["'`]?\s{0,4}([,|])\s{0,12}(["'`]?)$/.exec(text.slice(end, at));
  if (isDefined(text, start) || sign === null || !/^[A-Za-z][a-z]*(?:[-_][a-z\d]+)*\d?$/.test(text.slice(at, last)))
    return false;
  if (sign[1] === "," && !/["'`]/.test(text[start - 1] ?? "")) return true;
  return !/[({=]\s{0,2}["'`]?$/.test(text.slice(Math.max(0, start - LONGEST_BEFORE), start)) || sign[1] === "|";
}

const PREFIX_OF_ID = /^[a-z]{2,12}[_-](?=\w{10})/;

/** `"run_8cTxpaMONOPass", "run_S6yQiSIMJHJvFL"`: two identifiers with the same prefix and length, not a name and a value. */
function isNextIdentifier(text: string, start: number, { start: at, end: last, quoted }: Assigned): boolean {
  const prefix = quoted ? PREFIX_OF_ID.exec(text.slice(at, last))?.[0] : undefined;
  if (prefix === undefined) return false;
  const nearby = Math.max(0, start - LONGEST_NAME_REST);
  const from = nearby + text.slice(nearby, start).lastIndexOf(prefix);
  const before = /^([\w-]+)["'`]\s{0,2},\s{0,12}["'`]$/.exec(text.slice(from, at))?.[1];
  return before?.length === last - at && before.startsWith(prefix);
}

/** Names of secrets that somebody makes up, and all names with a word for secret. */
const OWN_SECRET =
  /(?:jwt|session|app|cookie|flask|django|rails|sign\w*|hmac|crypt\w*|auth)[\w.({ -]{0,12}secret|secret[-_ ]?key/i;
const SECRET = /secret|geheim|segre[dt]o/i;
/** `session({ secret: 'katzenminze' })` */
const OF_SESSION = /session\w*\(\{[^{}]{0,60}?secret$/i;
const LONGEST_SESSION = 80;
/** "Curlew&Marsh" */
const isOfPerson = (value: string): boolean => !isPlaceholder(value) && looksChosen(value);
const PHRASE = /^[a-z]{1,12}(?:[ -][a-z\d]{1,12}){2,7}$/;

/** `JWT_SECRET_KEY = "nachtigall-lied-44"`, `secret: Rotschenkel-31`: made up by a person. */
function isMeantAsSecret(
  text: string,
  start: number,
  end: number,
  { start: at, end: last, link, quoted }: Assigned,
): boolean {
  if (link === "beside" || (link === "said" && !quoted)) return false;
  if (
    quoted &&
    OF_SESSION.test(text.slice(Math.max(0, start - LONGEST_SESSION), end)) &&
    isOneWord(text.slice(at, last))
  )
    return true;
  if (quoted && SECRET.test(text.slice(start, end)) && isBehindUser(text, start) && isOfPerson(text.slice(at, last)))
    return true;
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

/** A table of users, whose secrets are passwords. */
const OF_USERS =
  /(?:^|[\n,;|\t])[ \t"]*(?:user(?:[ _-]?name)?|login|account|benutzer|usuario|utente|utilisateur)[ \t"]*[,;|\t][^\n]*$/i;

/** The first secret in the column of a table whose name the word is. */
function inColumn(text: string, start: number, end: number, word: SecretWord): Hit | null {
  spend(COLUMN_UNITS);
  const isOfUsers = word === "key" && OF_USERS.test(text.slice(Math.max(0, start - LONGEST_COMPARISON), start));
  for (const cell of cellsBelow(text, start, end)) {
    const value = text.slice(cell.start, cell.end);
    if (
      !/\s|^[a-z]+(?:[-_][a-z]+)*$/.test(value) &&
      isSecret(value, isOfUsers ? "password" : word, {
        ...cell,
        link: "assigned",
        quoted: /["'`]/.test(text[cell.start - 1] ?? "") || PAIR_OF_WORDS.test(value),
        copula: false,
      })
    )
      return hitOf("generic_credential", cell.start, cell.end);
  }
  return null;
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
