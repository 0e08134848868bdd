/**
 * Passwords that are ordinary words or numbers, in sentences in which they can be nothing else: "the wifi password is
 * troutfishing", "пароль: borshch", "the passcode was changed to 839201".
 */
import { spend } from "../check.ts";
import { matchAt } from "../text/ascii.ts";
import { WordSet } from "../text/word-set.ts";
import { anyOf } from "../words/lists.ts";
import { isPlaceholder, mentionsPassword } from "./plausible.ts";
import { SECRET_WORDS } from "./secret-words.ts";
import { type Span, saysRule, THING } from "./sentence.ts";
import { SENTENCE_WORDS } from "./sentence-words.ts";

/** The costs of checks, units. */
const CHECK_UNITS = 500;
const JUDGED_UNITS = 2_000;

const COPULA = anyOf([...SENTENCE_WORDS.copulas, "e", "on", "az", "be", "to"]);
const FILLER = String.raw`(?:[ \t]{1,2}(?:[(]?[\p{L}\p{M}'’./-]{1,20}[)]?|[(][\p{L}\d -]{1,16}[)]))`;
const QUOTE = `["'“„«‘「]?`;
const OTHER_QUOTE = `["'”“»’」]?`;
/** The end of the value: a sign, the end of a line, or an East Asian word written without a space. */
const END = String.raw`(?=${OTHER_QUOTE}(?:[ \t]{0,2}(?:[.,;!?)\n。，、！？؟،।]|$)|[ \t]?(?:です|でし|だ|に|と|を|이|예|야|임|입|로|으로|了|吧|है|হ)))`;

/** The text that ties a value to a name: a colon, a word for "is". */
const TIE = String.raw`(?:${FILLER}{0,5}?[ \t]{0,2}(?:[:：=][ \t]{0,3}|,?[ \t]{1,2}(?:${COPULA})[ \t]{1,3}|[ \t]?(?:是|为|為|は、?|는|은)[ \t]?))`;
const WORD_SAID = new RegExp(
  String.raw`(${TIE}|[ \t]{1,2})${QUOTE}([\p{Script=Latin}][\p{Script=Latin}\d]{0,64}(?:[_.-][\p{Script=Latin}\d]{1,64}){0,8}!?)${END}`,
  "uy",
);
const LONGEST_WORD = 40;
const SHORTEST_WORD = 6;
const SHORTEST_NETWORK_WORD = 8;
/** No participle or adjective that describes a password is this long. */
const LONGER_THAN_STATES = 13;

const NOT_LATIN = /[^\P{L}\p{Script=Latin}]/u;
const NETWORK = new WordSet(
  "ssid|wi-fi|wlan|wireless|hotspot|network|netzwerk|réseau|netwerk|nätverk|netværk|nettverk|verkon|verkko|nätet|sieci|síti|sítě|rețe|δίκτυο|сети|сеть|мереж|вайфа|wi̇fi|شبكة|الواي|רשת|नेटवर्क|网络|ネットワーク|네트워크|mạng|jaringan|hálózat|wifi|вай-фа|red de|rede |rete ".split(
    "|",
  ),
  () => "anywhere",
);
const REACH_BEFORE = 64;
const REACH = 64;
/** The endings of words that describe a password, and of names for passwords in programs. */
const STATE_ENDING =
  /(?:ed|ing|able|ible|lich|bar|iert|isch|mente|bile|inen|ttu|tty|ött|ott|mış|miş|wany|waný|ovaný|verplicht|ado|ada|ato|ata|uto|uta|ido|ida)$/i;
const STATE =
  /^(?:private|public|secret|geheim|secreto|segreta|secreta|unknown|unbekannt|inconnu|correct|falsch|wrong|hidden|default|standard|identical|dasselbe|lowercase|uppercase|alphanumeric|numeric|sensitive|confidential|unchanged|available|temporary|mandatory|optional|somewhere|everything|something|anything|nothing|whatever|below|above|attached|behind|inside)$/i;
const OF_PROGRAMS =
  /(?:^|[_.-])(?:user|pass|hash|value|name|id|key|token|field|null|string|text|type|default|env|config|data|file|error|invalid|min|max|length|count|not|is|has|get|set|new|old|test|list|url|path|db|sql|auth|login|http|json|yaml)(?:$|[_.-])/i;
const SERVICES: ReadonlySet<string> = new Set([...SECRET_WORDS.services, ...SECRET_WORDS.accounts]);

/** Returns the password after its name, where a word can be nothing else. For a key, only the key of a network. */
export function ordinaryPassword(text: string, start: number, end: number, kind: "password" | "key"): Span | null {
  spend(CHECK_UNITS);
  if (kind === "key") return wordBehind(text, start, end, kind) ?? groupsBehind(text, end, SEED_GROUPS);
  return (
    wordBehind(text, start, end, kind) ??
    numberBehind(text, start, end) ??
    phraseBehind(text, start, end) ??
    twoWords(text, start, end) ??
    wordsAndNumber(text, end) ??
    groupsBehind(text, end, APP_GROUPS)
  );
}

/** `mot de passe wifi Escabeau2031`: the network's word stands between, and nothing ties the value. */
const OF_NETWORK = new RegExp(
  String.raw`[ \t](?:\p{L}{1,4}[ \t])?(?:wi-?fi|wlan|вай-?фа\p{L}{1,3}|وای‌?فای|واي فاي|الواي فاي)[ \t]{1,2}${QUOTE}([\p{Script=Latin}][\p{Script=Latin}\d_.-]{5,39}\d!?)(?=${OTHER_QUOTE}(?:[ \t]{0,2}(?:[.,;!?)\n،]|$)|[ \t](?:است|है)))`,
  "iuy",
);

function networkWord(text: string, end: number): Span | null {
  const word = matchAt(OF_NETWORK, text, end)?.[1];
  if (word === undefined || THING.test(word) || isPlaceholder(word) || mentionsPassword(word)) return null;
  return { start: OF_NETWORK.lastIndex - word.length, end: OF_NETWORK.lastIndex };
}

function wordBehind(text: string, start: number, end: number, kind: "password" | "key"): Span | null {
  const match = matchAt(WORD_SAID, text, end);
  if (match === null) return kind === "password" ? networkWord(text, end) : null;
  const [, tie = "", word = ""] = match;
  const last = WORD_SAID.lastIndex;
  spend(JUDGED_UNITS);
  if (word.length < SHORTEST_WORD || word.length > LONGEST_WORD || isNoPassword(word, tie)) return null;
  // Only the keys of networks are words.
  if (kind === "key" && !NETWORK.isIn(text.slice(Math.max(0, start - REACH), end + REACH))) return null;
  return isMeant(text.slice(start, end), text.slice(Math.max(0, start - REACH_BEFORE), end), tie, word)
    ? { start: last - word.length, end: last }
    : null;
}

function isNoPassword(word: string, tie: string): boolean {
  if (THING.test(word) || isPlaceholder(word) || mentionsPassword(word) || saysRule(tie)) return true;
  // A word after a verb may be an adjective.
  if (tie.trim() !== "" && STATE_ENDING.test(word)) return true;
  return STATE.test(word) || OF_PROGRAMS.test(word) || SERVICES.has(word.toLowerCase());
}

function isMeant(name: string, before: string, tie: string, word: string): boolean {
  const isAdjacent = tie.trim() === "";
  const isOfWords = /^[a-z]+(?:_[a-z\d]+)+$/.test(word);
  // In a sentence in another script, only names are Latin words.
  if (NOT_LATIN.test(name)) return /^[a-z]/.test(word) && (!isAdjacent || /[a-z]{8}|[_\d]/.test(word));
  if (/[a-z][A-Z]|.!$/.test(word) && NETWORK.isIn(before + tie))
    return word.length >= SHORTEST_NETWORK_WORD && !isAdjacent;
  if (!/^[a-z]/.test(word)) return false;
  if (!NETWORK.isIn(before + tie)) {
    if (isAdjacent) return false;
    return isOfWords
      ? !tie.includes("=") || PROSE.test(tie)
      : word.length >= SHORTEST_NETWORK_WORD && /^(?: = |: |\s.*\s)/.test(tie) && OF_DEVICE.test(before);
  }
  if (word.length < SHORTEST_NETWORK_WORD) return false;
  return (
    isOfWords || /\d/.test(word) || /[:：]\s*$/.test(tie) || isBehindQuote(before) || word.length >= LONGER_THAN_STATES
  );
}

/** Two words or more before the sign. */
const PROSE = /^(?:[ \t]{1,2}\p{L}[\p{L}'’-]{0,19}){2}/u;

/** `router admin password = fiddlehead`: the device with its own password, right before the name. */
const OF_DEVICE =
  /(?:^|[^\p{L}])(?:router|admin|administrator|root|nas|printer|scanner|laptop|computer|server|vpn|camera|cctv|firewall|switch|modem|netflix|drucker|rechner|imprimante|impresora|impressora|stampante|drukark[ai]|kamera|роутера?|принтера?|админа?)(?:['’]s)?[ -]\p{L}+$/iu;

/** `network "LakeHouse", password troutfishing`: the second of two names. */
const isBehindQuote = (before: string): boolean => /["'”“»][\s,;]{1,3}\p{L}+$/u.test(before);

const NUMBER_SAID = new RegExp(
  String.raw`(?:["']?[ \t]?[:：=][ \t]?["']?|[^?？؟\n]{0,64}[?？؟]["'”]?[ \t]{0,2}(?:(?:A|It's|it's|[\p{L}]{1,8})[ \t:,]{1,2}){0,3}|${FILLER}{0,4}?,?[ \t]{1,2}(?:${COPULA}|to|auf|en|a|para|in|su|naar|na|till|til|în|σε|на)[ \t]{1,3}|[ \t]?(?:是|为|為|は、?|는|은|改成了?|换成了?|改为了?|改為|设为|设成了?|設為)[ \t]?)(\d{6,12}|\d(?: \d){3,7})(?![\p{L}\d%]|[.,:/-]\d| \d)(?=[#*]?${OTHER_QUOTE}(?:[ \t]?(?:[.,;!?)}\]\n。，、！？]|$|for\s|für\s|pour\s|para\s|per\s|voor\s|です|이|예|야|입)))`,
  "uy",
);
const OF_PHRASE = /phrase|frase|fraz|fráze|фраз|φράση|フレーズ/i;
const PHRASE_SAID = new RegExp(
  String.raw`(${TIE})${QUOTE}(\p{Ll}{2,12}(?:[ \t]\p{Ll}{2,12}){2,7})(?=${OTHER_QUOTE}[ \t]{0,2}(?:[.,;!)\n]|$))`,
  "uy",
);
/** Words of a sentence about a phrase, and of its continuation. */
const OF_SENTENCES =
  /(?<!\p{L})(?:the|and|are|was|were|has|had|from|with|for|but|not|this|that|which|any|our|your|you|please|enter|must|should|can|will|when|only|never|stored|kept|same|none|below|used|der|die|das|und|mit|ist|für|nicht|bitte|les|des|une|que|pour|est|dans|pas|los|las|por|una|con|para|são|não|uma|com|to|be|is|it|in|of|on|or|as|by|we|che|sono|per|della|non|een|het|van|voor|niet|och|att|som|inte|det|til|ikke|jest|nie|się|что|это|для|или|не|και|για|ile|için)(?!\p{L})/u;

/** `passphrase for the backup disk: seven quiet herons wading`. */
function phraseBehind(text: string, start: number, end: number): Span | null {
  if (!OF_PHRASE.test(text.slice(start, end))) return null;
  const match = matchAt(PHRASE_SAID, text, end);
  if (match === null) return null;
  const [, tie = "", phrase = ""] = match;
  const last = PHRASE_SAID.lastIndex;
  const first = phrase.split(/\s/, 1)[0] as string;
  if (OF_SENTENCES.test(phrase) || STATE_ENDING.test(first) || STATE.test(first) || saysRule(tie + phrase)) return null;
  return isPlaceholder(first) || mentionsPassword(phrase) ? null : { start: last - phrase.length, end: last };
}

const TWO_WORDS = new RegExp(
  String.raw`((?:${FILLER}{0,5}?(?:["']?[ \t]{0,2}[:：][ \t]{1,3}|,?[ \t]{1,2}(?:${anyOf(SENTENCE_WORDS.copulas)}|to|[–—])[ \t]{1,2})))${QUOTE}(\p{Ll}{3,12}[ \t]\p{Ll}{3,12}|\p{Ll}{3,12}[ \t]å)(?=${OTHER_QUOTE}[ \t]{0,2}(?:[.,;!)\n]|$))`,
  "uy",
);
const NOT_IN_A_PASSWORD: ReadonlySet<string> = new Set(SENTENCE_WORDS["not in a password"]);
/** Adverbs, participles and other words that describe. */
const DESCRIBES =
  /(?:ly|ful|less|ment|mente|ität|tion|ción|ção|zione|ness|ung|ive|ous|ic|al|ant|ent|en|ig|isk|ne|ое|ый|ий|ая|ено|ано)$/i;
const OF_NOUNS = /^(?:\p{Ll}+)$/u;

/** "The wifi password is purple hedgehog": two words, of a network or a device. */
function twoWords(text: string, start: number, end: number): Span | null {
  const match = matchAt(TWO_WORDS, text, end);
  if (match === null) return null;
  const [, tie = "", said = ""] = match;
  const before = text.slice(Math.max(0, start - REACH_BEFORE), end);
  spend(JUDGED_UNITS);
  if (!NETWORK.isIn(before + tie) && !OF_DEVICE.test(before)) return null;
  const words = said.split(/[ \t]/);
  const isSaidOfIt = words.some(
    (word) => NOT_IN_A_PASSWORD.has(word) || STATE.test(word) || STATE_ENDING.test(word) || !OF_NOUNS.test(word),
  );
  if (isSaidOfIt || OF_SENTENCES.test(said) || saysRule(tie + said)) return null;
  // An adjective at the end describes the password; before a noun it is part of one.
  if (DESCRIBES.test(words[1] as string)) return null;
  return isPlaceholder(words[0] as string) || mentionsPassword(said)
    ? null
    : { start: TWO_WORDS.lastIndex - said.length, end: TWO_WORDS.lastIndex };
}

const WORDS_AND_NUMBER = new RegExp(
  String.raw`${QUOTE}[ \t]?[:=：][ \t]{1,2}${QUOTE}((?:\p{Ll}{3,12}[ \t]){2,3}\d{1,4})(?=${OTHER_QUOTE}[ \t]{0,2}(?:[.,;!)\n]|$))`,
  "uy",
);
const COUNTED =
  /(?<!\p{L})(?:length|age|days?|weeks?|months?|years?|hours?|minutes?|characters?|chars|digits?|attempts?|version|step|page|line|option|field|chapter|section|level|max|min|last|first|top|since|after|before|within|every|about|phase|build|port|room|windows|python|error|code|number|next|type|stage|sprint|release)(?!\p{L})/u;

/** `pwd: gannet dive 77`: words in small letters and a number, right after the name. */
function wordsAndNumber(text: string, end: number): Span | null {
  const said = matchAt(WORDS_AND_NUMBER, text, end)?.[1];
  if (said === undefined || OF_SENTENCES.test(said) || COUNTED.test(said) || saysRule(said)) return null;
  return mentionsPassword(said)
    ? null
    : { start: WORDS_AND_NUMBER.lastIndex - said.length, end: WORDS_AND_NUMBER.lastIndex };
}

/** A date, or a time in seconds since 1970. */
const MOMENT = /^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])|^1[5-9]\d{8}$/;

/** `the passcode was changed to 839201`, `"password": "48291034"`. */
function numberBehind(text: string, start: number, end: number): Span | null {
  const number = matchAt(NUMBER_SAID, text, end)?.[1];
  if (number === undefined || MOMENT.test(number) || isPlaceholder(number)) return null;
  const last = NUMBER_SAID.lastIndex;
  // After a plural, the number is how many passwords there are.
  if (/s$/i.test(text.slice(start, end)) || saysRule(text.slice(end, last))) return null;
  return { start: last - number.length, end: last };
}

const groups = (group: string, more: string): RegExp =>
  new RegExp(
    String.raw`(?:${TIE}|[ \t]{1,2})["']?(${group}(?:[ -]${group}){${more}})(?![\p{L}\d-]|[ ][\p{L}\d])`,
    "uy",
  );
const APP_GROUPS = groups("[a-z]{4}", "3");
/** Base32, as the secrets of one-time passwords are shown (RFC 4648 section 6). */
const SEED_GROUPS = groups("[A-Z2-7]{4}", "3,15");
/** A group of four letters without a vowel, or with a digit, is not a word. */
const NO_WORD = /(?:^|[ -])(?:[^aeiouy -]{4}(?![a-z])|(?=[A-Z]*\d)[A-Z\d]{4})/;

/** `qkzv hwtn xbud pmlo`, `JBSW Y3DP EHPK 3PXP`: the groups of a password that was made for one program. */
function groupsBehind(text: string, end: number, pattern: RegExp): Span | null {
  const found = matchAt(pattern, text, end)?.[1];
  if (found === undefined || !NO_WORD.test(found)) return null;
  return { start: pattern.lastIndex - found.length, end: pattern.lastIndex };
}
