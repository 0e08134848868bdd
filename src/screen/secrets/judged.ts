/**
 * How a value must look to be the secret that its name announces. The weaker the tie to the name, the more it must look
 * like a secret.
 */
import type { Assigned } from "./assignment.ts";
import {
  distinct,
  isGibberish,
  isMangled,
  isPlaceholder,
  isUuid,
  looksLikePassword,
  looksRandom,
  wordShare,
} from "./plausible.ts";
import { isJoinedWords, saysRule, THING } from "./sentence.ts";

/** The kind of the announced secret, which decides how strong the value must look. */
export type SecretWord = "password" | "key";

const SHORTEST_PASSWORD = 5;
export const LONGEST_PASSWORD = 128;
export const SHORTEST_KEY = 10;
/** Of eight or nine characters: capitals, small letters and digits, changing often. */
const SHORT_KEY =
  /^(?=(?:.*\d){2})(?=(?:.*[a-z]){2})(?=.*[A-Z])(?=(?:.*(?:[A-Za-z]\d|\d[A-Za-z])){3})[A-Za-z0-9]{8,9}$/;
const SHORTEST_DIGIT_KEY = 14;
/** The least length of a key that only a space ties to its name. */
const SHORTEST_KEY_BESIDE = 16;

/** Reports whether a value may be a secret of this kind, given how it is tied to its name. */
export function isSecret(value: string, word: SecretWord, tie: Assigned): boolean {
  if (tie.link === "assigned" && isMangled(value)) return true;
  const plausible = word === "password" ? isPassword(value, tie) : isKey(value, tie);
  // The most expensive check comes last.
  return plausible && !isPlaceholder(value) && !PASSWORD_HASH.test(value);
}

const NAME_OF_ONE = /^(?:[A-Z][A-Z0-9]*_)*(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|KEY)(?:_[A-Z0-9]+)*$/;

/** Whether a value may be a password. */
export function isPassword(value: string, { link, quoted, copula }: Assigned): boolean {
  if (value.length < SHORTEST_PASSWORD || value.length > LONGEST_PASSWORD) return false;
  // A regular expression about passwords, or a name in a program.
  if (/\\[sSwWdDb][*+?{\])]|\(\?[:=!]|\[\^|\]\)?[*+{]/.test(value)) return false;
  if (isJoinedWords(value) && (quoted || link !== "assigned" || !/\./.test(value) || /\d$/.test(value))) return true;
  if (!quoted && /^[A-Za-z_]\w*(?:[.&|]\w+)+$/.test(value) && wordShare(value) > 0.4 && !/[&|].*\d$/.test(value))
    return false;
  // The name of a variable: of the environment, or the next of a list.
  if (NAME_OF_ONE.test(value) || (!quoted && /^[a-z]+(?:[A-Z][a-z]+)*Password\d{0,2}$/.test(value))) return false;
  // `!!passThrough`, `**self.conn_kw`, `Pass &addPass`: of a program.
  if (!quoted && OF_A_PROGRAM.test(value) && (link !== "assigned" || wordShare(value) > 0.5)) return false;
  // `#define BLEND_PASS 0x0B96`: a constant.
  if (/^0x[0-9a-f]{1,8}$/i.test(value)) return false;
  if (/^\w+:\/\//.test(value) || /^[a-z]{2}_[A-Z]{2}\./.test(value)) return false;
  // The name of a type.
  if (!quoted && /^(?:[A-Z][a-z]+\d?){3,}$/.test(value)) return false;
  // A selector; the next argument of a call.
  if (/^[#.][a-z]+(?:-[a-z]+)*$/.test(value)) return false;
  if (!quoted && /^[a-z_]\w*=/i.test(value) && !/^(?=.*\d)(?=.*[A-Z])\w{12,}=$/.test(value)) return false;
  // `password=~/.docker/pw`: the path of its file.
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
  if (copula && quoted && /^[\p{L}\p{M}\w!@#$%&*+-]{5,}$/u.test(value) && !STATE.test(value)) return true;
  return link === "said" && !quoted ? strongPassword(value) : looksLikePassword(value);
}

const OF_A_PROGRAM = /^(?:!{1,2}|\*{1,2}|&{1,2})[A-Za-z_$][\w$.:]*$/;
/** Constants and functions of a list: `openssl_aes_set_key`, `ATTR_PRIVATE_KEY`, `Ed448PublicKey`. */
const NAME_OF_KEY = /^(?:[a-z\d]+(?:_[a-z\d]+){2,}|[A-Z\d]+(?:_[A-Z\d]+){2,}|_?[A-Za-z_.\d]*(?:Public|Private)Key)$/;
/** A word with at most a capital at its beginning. */
const ONE_WORD = /^\p{L}\p{Ll}+$/u;
const LONGEST_ONE_WORD = 15;

function isKey(value: string, { link, quoted }: Assigned): boolean {
  if (ONE_WORD.test(value) && (link !== "assigned" || value.length <= LONGEST_ONE_WORD)) return false;
  if (!quoted && NAME_OF_KEY.test(value) && wordShare(value) > 0.25) return false;
  if (/^\d+$/.test(value)) return link === "assigned" && value.length >= SHORTEST_DIGIT_KEY && distinct(value) >= 5;
  if (
    value.length < (link === "beside" ? SHORTEST_KEY_BESIDE : SHORTEST_KEY) &&
    !(link === "assigned" && SHORT_KEY.test(value))
  )
    return false;
  if (!(quoted && value.length >= SHORTEST_KEY_BESIDE ? /^[\x21-\x7e]+$/ : /^[\w+/=.~:|*!@#$%^&-]+$/).test(value))
    return false;
  if ((JOINED_WORDS.test(value) && wordShare(value) > 0.4) || /^0x[0-9a-f]{1,16}$/i.test(value)) return false;
  if (
    /^[A-Z]+(?:_[A-Z]+)+$/.test(value) ||
    /^https?:|^(?:[./~]|--|sha\d{1,3}[:-])|^[\w-]+\.[\w-]+\.(?:com|io|net|org)\b/i.test(value)
  )
    return false;
  if (isUuid(value)) return link === "assigned";
  return looksRandom(value) && !isCode(value, quoted);
}

/** A name of many parts: "my-plugin--access-key-2". */
const JOINED_WORDS =
  /^(?:[a-z]{2,}\d?|\d{1,2}|[a-z]\d[a-z]+\d?)(?:[-_]{1,2}(?:[a-z]{2,}\d?|[a-z]\d|\d{1,2}|[a-z]\d[a-z]+\d?)){3,}$/;

/** A stored hash is not the password: bcrypt, crypt, argon2. */
const PASSWORD_HASH = /^\$(?:2[abxy]|[156]|argon2\w{1,2}|scrypt|pbkdf2[\w-]*)\$/;

/** Words for the state of a password in a message. */
export const STATE =
  /^(?:required|invalid|incorrect|wrong|weak|expired|empty|missing|correct|strong|hidden|valid|changed|reset|blank|encrypted|hashed|optional|secure|unsafe|short|long|secret|string|text|needed|provided|not[-_]\w+|password\w*|erforderlich|falsch|obligatoire|requis|requerid[ao]|incorrect[ao]|obrigatóri[ao]|richiesta|errata|verplicht|wymagane)$/i;

/** In a sentence, a password must have a digit or a sign, or must not be a word. */
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
