/** Whether a string could be a real secret: not a placeholder, not a reference, not a word. */
import { isWordlike } from "../text/wordlike.ts";
import { SECRET_WORDS } from "./secret-words.ts";

/** "Insert your password here" in other languages, in place of a password. */
const PLACEHOLDER_IN_WORDS =
  /^(?:ihr|dein|euer|mein|votre|ton|mon|tu|su|mi|seu|sua|teu|tua|la[-_ ]tua|il[-_ ]tuo|jouw|uw|mijn|twoje|twoj|twój|moje|moj|vase|vaše|tvoje|ditt|din|mitt|min|oma|sinun|sizin|senin|το|ваш|твой|мой|мій|твій)[-_ ]?(?:[\p{L}_ -]*(?:pass|pwd|wort|contra|clave|senha|parola|wachtwoord|has[lł]o|heslo|l[oö]sen|kode|salasana|sifre|şifre|парол|κωδικ|key|token|schl|cl[eé])\p{L}*)\d{0,4}|^(?:sifreniz|şifreniz|parolanız|eintragen|einfügen|введите|введіть|entrez|ingrese|insira|inserisci|wpisz|zadejte|indtast|syötä|girin|(?:hier|aquí|aqui|ici|qui|tutaj|zde|här|tähän|buraya|здесь|сюда|тут|ange|skriv)(?!\p{L}))|[-_ ](?:hier|aquí|aqui|ici|qui|tutaj|zde|här|her|tähän|buraya|здесь|сюда|тут)$|^(?:你的|您的|请输入|此处|ここ|あなた|入力|여기|입력|यहाँ|अपना|هنا|كلمة|כאן|הסיסמה)/iu;
const PLACEHOLDER_WORD =
  /example|placeholder|fake|change.?me|redacted|your[-_ .]|[-_ .]your|^your|yourkey|yourtoken|insert[-_ ]|dummy|sample|replace|notreal|undefined|lorem|ipsum|fill.?in|^my[-_](?:key|token|secret|pass)|(?:key|token|secret|password|value)[-_ ]?here|^(?:asdf\w{0,6}|foo|bar|baz|qux|test|testing|tests|abc|abcd|none|null|nil|true|false|yes|no|string|password|passwd|secret|token|hidden|masked|empty|default|unknown|invalid|user|username|admin|root|guest)$/i;
const REFERENCE =
  /^(?:&lt;|\\*\$[A-Za-z_({[]|\$\$|%[A-Za-z_(]|#\{|\{\{|<|@[{(]|process\.env|os\.|env\[|ENV\[|var\.|vault:|arn:|ref\+|secrets\.|!(?:vault|secret|env|ref|sub|getatt|include|import)\w*)|\$\{|\{\{|\}\}|\$\(|<[a-z]|%[sdv]$|\[REDACTED|\*\*\*|\.\.\.|…/i;
const REPEATED = /(.)\1{5,}/;
/** A long body with fewer different characters than this is filler. */
const FEWEST_DISTINCT = 6;
/** Placeholders that count upwards are short; longer ones with a run in them occur in real keys. */
const LONGEST_COUNTED_PLACEHOLDER = 16;

/** A longer token is judged by its beginning. */
const LONGEST_JUDGED = 128;
/** A token of letters alone is at least this long. */
const SHORTEST_LETTERS_ONLY = 16;

/** Whether the body after a known prefix was never issued: it is filler, or words. */
export function looksInvented(token: string): boolean {
  const body = token.slice(0, LONGEST_JUDGED);
  if (REPEATED.test(body) || /example|xxxx|\.\.\.|your[-_]|redacted|placeholder/i.test(body)) return true;
  if (body.length >= 12 && distinct(body) < FEWEST_DISTINCT) return true;
  if (/\d/.test(body)) return false;
  return body.length < SHORTEST_LETTERS_ONLY || !isGibberish(body) || wordShare(body) > 0.5;
}

/** Letters that mark a placeholder; in a long value three of them in a row may be chance. */
const FILLER = /x{3}|X{3}/;
const LONG_FILLER = /x{6}|X{6}/;
const LONG_VALUE = 40;

/** Keys for pages, which everybody sees, of Stripe, Clerk, Supabase and PostHog; client ids of GitHub. */
const PUBLISHED = /^(?:pk_(?:live|test)_|sb_publishable_|phc_|Iv1\.[0-9a-f]{16}$|[IO]v23[A-Za-z0-9]{16}$)/;
/**
 * What only a key elsewhere opens: of SOPS, eyaml and Jasypt, Spring Cloud, Ansible and HashiCorp Vault, and of sealed
 * secrets, which begin with the length of a key of 4096 bits.
 */
const ENCRYPTED = /^(?:ENC[[(]|\{?(?:cipher|AES)\}|\$ANSIBLE_VAULT|vault:v\d|Ag[A-D][A-Za-z0-9+/]{37})/;

/** Whether `value` refers to a secret elsewhere, is public, encrypted or a placeholder. */
export function isPlaceholder(value: string): boolean {
  if (
    REFERENCE.test(value) ||
    PUBLISHED.test(value) ||
    ENCRYPTED.test(value) ||
    PLACEHOLDER_IN_WORDS.test(value) ||
    namesPassword(value)
  )
    return true;
  if (PLACEHOLDER_WORD.test(value)) return !isLongRandom(value);
  if ((value.length < LONG_VALUE ? FILLER : LONG_FILLER).test(value)) return true;
  if (distinct(value) <= 2 || (value.length >= 8 && REPEATED.test(value) && distinct(value) < FEWEST_DISTINCT)) {
    return true;
  }
  return value.length <= LONGEST_COUNTED_PLACEHOLDER && counted(value) >= value.length * 0.6;
}

/** The last part of a name for what is said of a secret: whose it is, where, of which kind, since when. */
const OF_SECRET =
  /(?:^|[^a-z])(?:[ku]?id|uuid|arn|\w*name|user|owner|author|by|at|on|in|from|until|created|updated|rotated|expir\w*|last\w*|date|time|ttl|e?mail|login|team|project|host|server|port|path|file|url|uri|domain|endpoint|region|zone|bucket|namespace|env|environment|type|kind|status|state|scope|role|policy|version|label|title|note|comment|desc|description|purpose|usage|tags?|link|docs?|hint|prefix|suffix|ref|source|provider|service|public|publishable|pub|crt|cert|address|mint|contract|symbol|model|image|repo|branch|release|product|plan|sha\d*|hash|digest|checksum|fingerprint|commit|alg|algorithm|format|pattern|regex|min|max|length|size|count|placeholder|help|error|message|text)$/;

/** Whether a member of this name, beside a secret or a list of secrets, is none itself. */
export const saysOfSecret = (name: string): boolean =>
  OF_SECRET.test(
    name
      .replace(/[^\p{L}\d]+$/u, "")
      .replace(/([a-z\d])(?=[A-Z])/g, "$1_")
      .toLowerCase(),
  );

/** "pass" and shorter words are parts of other things. */
const SHORTEST_PASSWORD_WORD = 4;
const LONGEST_NAMED = 40;
const LONG_PASSWORD_WORDS = SECRET_WORDS.passwords.filter((word) => word.length > SHORTEST_PASSWORD_WORD);
const PASSWORD_WORDS: ReadonlySet<string> = new Set(LONG_PASSWORD_WORDS);

/** These words by their first letters, since comparing a value with hundreds of words would take the most time. */
const BEGINNING = 2;
const BY_BEGINNING = Map.groupBy(LONG_PASSWORD_WORDS, (word) => word.slice(0, BEGINNING));

/** Whether a word for a password is in a value: then it is a name or a label of one. */
export function mentionsPassword(value: string): boolean {
  const said = value.toLowerCase();
  for (let at = 0; at < said.length - BEGINNING; at++) {
    const words = BY_BEGINNING.get(said.slice(at, at + BEGINNING));
    if (words?.some((word) => said.startsWith(word, at))) return true;
  }
  return false;
}

/** "kirjoita_salasana": only words, one of which is a word for a password. */
function namesPassword(value: string): boolean {
  if (value.length > LONGEST_NAMED || !/^\p{L}+(?:[_-][\p{L}\d]+)+$/u.test(value)) return false;
  return value.split(/[_-]/).some((part) => PASSWORD_WORDS.has(part.toLowerCase()));
}

/** In a long random value a short word may be chance, or an author's note in it. */
const LONG_RANDOM = 28;
const isLongRandom = (value: string): boolean =>
  value.length >= LONG_RANDOM &&
  /[A-Za-z0-9]{3}(?:fake|sample|replace|dummy|example)[A-Za-z0-9]{3}/i.test(value) &&
  (value.match(/\d(?!\d)/g)?.length ?? 0) >= 3 &&
  wordShare(value) <= 0.4;

/** Returns how many characters are the successor, in the alphabet or the digits, of the character before. */
function counted(value: string): number {
  let steps = 0;
  for (let i = 1; i < value.length; i++) {
    if (value.charCodeAt(i) === value.charCodeAt(i - 1) + 1) steps++;
  }
  return steps;
}

/** When each character of ASCII was last met, by the number of the count. */
const met = new Uint32Array(128);
let counts = 0;

/** Number of different characters. */
export function distinct(value: string): number {
  counts = (counts + 1) >>> 0;
  let different = 0;
  const others: string[] = [];
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code >= 128) others.push(value[at] as string);
    else if (met[code] !== counts) {
      met[code] = counts;
      different++;
    }
  }
  return others.length === 0 ? different : different + new Set(others).size;
}

const LETTERS = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g;

/** The share of `value` that is words of four letters or more, names in camel case taken apart. */
export function wordShare(value: string): number {
  let words = 0;
  for (const match of value.matchAll(LETTERS)) {
    const run = match[0];
    if (run.length >= 4 && isWordlike(run)) words += run.length;
  }
  return words / value.length;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export const isUuid = (value: string): boolean => UUID.test(value);

/** Whether a generator may have made the value: digits and letters mixed, or letters that form no word. */
export function looksRandom(value: string): boolean {
  if (value.length < 8 || distinct(value) < Math.min(8, value.length / 2)) return false;
  const digits = count(value, /[0-9]/g);
  const upper = count(value, /[A-Z]/g);
  const lower = count(value, /[a-z]/g);
  if (digits > 0 && upper + lower > 0) {
    // A name followed by a number is not a key: words, then digits.
    return wordShare(value) <= 0.55 && (wordShare(value) <= 0.3 || !/^[A-Za-z]+[-_.]?\d{1,4}$/.test(value));
  }
  if (digits > 0) return false;
  return wordShare(value) <= 0.4 && isGibberish(value);
}

/** Letters that no language would put together. */
export function isGibberish(value: string): boolean {
  const runs = value.match(/[A-Za-z]+/g) ?? [];
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "");
  if (longest.length < 4) return false;
  if (/[a-z][A-Z][a-z]?[A-Z]|[A-Z][a-z][A-Z][a-z]?[A-Z]/.test(longest) && wordShare(longest) < 0.5) return true;
  return !isWordlike(longest);
}

const count = (value: string, pattern: RegExp): number => value.match(pattern)?.length ?? 0;

const PLAIN_NUMBER = /^[+-]?[\d.,:_/-]+%?$/;
const NAME_PATH = /^[A-Za-z_$][\w$]*(?:(?:\.|->|::|\[)[A-Za-z_$][\w$]*\]?)+$/;
const CALL = /[A-Za-z_$][\w$]*\($|\(\)?$/;
const PASSPHRASE = /^[a-z]{3,}(?:[-_. ][a-z]{3,}){2,}[-_. ]?\d{0,4}[!?.]?$/i;

/** "user2", "pass_1", "v2": a name in a program with a number. */
const NUMBERED_NAME =
  /^(?:user|usr|pass|pwd|password|passwd|secret|token|key|var|arg|val|value|test|opt|option|param|field|name|str|string|data|item|foo|bar|v|p|x)_?v?\d{1,2}$/i;

/** Alphabets that people type passwords in; the other scripts have no spaces, so a value would be a sentence. */
const LETTER = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u;

/** A word that a person chose: letters with a digit or a sign among them, or a passphrase. */
export function looksLikePassword(value: string): boolean {
  if (value.length < 5 || PLAIN_NUMBER.test(value) || CALL.test(value)) return false;
  if (NAME_PATH.test(value) && wordShare(value) > 0.5) return false;
  if (PASSPHRASE.test(value)) return /\d/.test(value) || value.includes("-");
  const letters = LETTER.test(value);
  const digit = /\d/.test(value);
  const sign = /[!@#$%^&*+=?~|\\]/.test(value);
  if (letters && (digit || sign)) return !NUMBERED_NAME.test(value);
  return letters && value.length >= 6 && isGibberish(value);
}

/** Members of a pattern, a call of a method, a type. */
const OF_A_PROGRAM = /^\[\]\*?\w|^[[{]{1,3}\\?["']|^[\w$]{1,24},[\w$]+[:,}]|^[)}\]]+\)?\.\w+\(|^<\w+>|=>/;
const SIGNS = /[{}()[\]<>$#@!%^&*?~|;:'"`\\]/g;
const FEWEST_SIGNS = 5;

/** Many different signs and brackets that do not pair: neither code nor a sentence, but typed by a generator. */
export function isMangled(value: string): boolean {
  if (value.length < 12 || /\s/.test(value) || !/[A-Za-z]/.test(value) || OF_A_PROGRAM.test(value)) return false;
  return new Set(value.match(SIGNS)).size >= FEWEST_SIGNS && !hasPairedBrackets(value);
}

function hasPairedBrackets(value: string): boolean {
  const open: string[] = [];
  for (const char of value) {
    if ("([{".includes(char)) open.push(char);
    else if (")]}".includes(char) && open.pop() !== "([{"[")]}".indexOf(char)]) return false;
  }
  return open.length === 0;
}
