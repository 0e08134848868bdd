/** Email addresses (RFC 5321 in practice, RFC 6531 for other scripts). */
import { type Hit, hitOf, spend } from "../check.ts";
import { matchEnd } from "../text/ascii.ts";

/** The cost of a check, units. */
const CHECK_UNITS = 80;

const LONGEST_LOCAL = 64;
const LOCAL = /[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]/u;
const DOMAIN =
  /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(?:\p{L}{2,24}|xn--[a-z0-9-]{2,59})(?![\p{L}\p{N}])/uy;
/** The endings of a "domain" in the names of files and packages and in code. */
const NOT_A_DOMAIN =
  /\.(?:js|mjs|cjs|ts|tsx|jsx|json|png|jpe?g|gif|svg|webp|css|scss|html?|md|py|go|rs|rb|java|kt|swift|sh|zip|gz|tgz|tar|lock|ya?ml|toml|txt|log|sql|db|exe|dll|so|service|socket|local|localhost|internal|localdomain|lan|invalid|test|example)$/i;
const EXAMPLE_DOMAIN =
  /(?:^|\.)(?:example\.(?:com|net|org|edu)|domain\.(?:com|tld)|yourdomain\.com|yourcompany\.com|company\.com|email\.com|test\.com|acme\.com|foo\.com|bar\.com)$/i;
/**
 * Placeholders for a name. `user@` and `admin@` with an example domain are none: people use them to try a policy,
 * and expect it to block.
 */
const PLACEHOLDER =
  /^(?:username|you|your[._-]?(?:name|email|mail)?|name|email|mail|foo|bar|baz|example|someone|somebody|anyone|nobody|[a-c]|x|xyz|first\.last|firstname\.lastname|info|contact|sales|hello|team|office|demo|test|support|help|helpdesk|billing|orders|jobs|press|feedback|newsletter|notifications?|alerts?|ops|webmaster|hostmaster|security|privacy|service|bot|agent|recipient|sender|receiver|customer|client|member|employee|correo|usuario|nombre|nome|nom|prenom\.nom|vorname\.nachname|max\.mustermann|mustermann|imie\.nazwisko)$/i;
/** The names of people in examples. */
const NOBODY =
  /^(?:(?:john|jane|j)[._-]?(?:doe|smith|roe)|doe|jdoe|john|alice|bob|carol|(?:erika|max|m|e)[._-]?muster(?:mann|frau)|juan[._-]?perez|mario[._-]?rossi|jean[._-]?dupont|jan[._-]?(?:kowalski|jansen|novak)|taro[._-]?yamada|zhang[._-]?san)$/i;
/** "example" in other languages, as the name of a domain. */
const EXAMPLE_ABROAD =
  /(?:^|\.)(?:beispiel\w*|muster(?:mail|firma|domain)?|exemple|ejemplo|exemplo|esempio|voorbeeld|przyklad|priklad|příklad|exempel|eksempel|esimerkki|ornek|örnek|primer|contoh|exemplu|pelda|példa|vidu|пример|приклад|例え|例)\.[\p{L}.]{2,6}$/iu;
/** Function mailboxes belong to no person in any domain. */
const FUNCTION = /^(?:git|hg|svn|noreply|no-reply|donotreply|do-not-reply|mailer-daemon|postmaster|bounces?|abuse)$/i;
const NOREPLY_DOMAIN = /^(?:users\.noreply\.github\.com|noreply\.gitlab\.com|github\.com)$/i;

/** The address whose `@` is at `at`. */
export function email(text: string, at: number): Hit | null {
  spend(CHECK_UNITS);
  let start = at;
  while (start > 0 && at - start < LONGEST_LOCAL && LOCAL.test(characterBefore(text, start))) {
    start -= characterBefore(text, start).length;
  }
  // A local part may contain signs, but hardly ever begins with one.
  while (start < at && /[.!#$%&'*+/=?^`{|}~-]/.test(text[start] as string)) start++;
  const cut = text.slice(start, at).search(/[=/?&'|{}]+(?=[^=/?&'|{}]*$)/);
  if (cut >= 0) start += cut + 1;
  if (start === at || text[at - 1] === ".") return null;
  const end = matchEnd(DOMAIN, text, at + 1);
  if (end < 0) return null;
  const local = text.slice(start, at);
  const domain = text.slice(at + 1, end);
  if (/\.\.|^\./.test(local) || NOT_A_DOMAIN.test(domain) || isUserinfo(text, start, end)) return null;
  if (FUNCTION.test(local) || NOREPLY_DOMAIN.test(domain) || isMessageId(text, start)) return null;
  if (EXAMPLE_ABROAD.test(domain) && !/\d{2}/.test(local)) return null;
  if (EXAMPLE_DOMAIN.test(domain) && (PLACEHOLDER.test(local) || NOBODY.test(local) || isInstruction(text, start)))
    return null;
  // `name@1.2.3` is a package and its version; `func@plt` has no dot.
  return hitOf("email", start, end);
}

/**
 * Before ids of mails, of their parts (RFC 5322 section 3.6.4, RFC 2392) and of calls: the name of the field. The first
 * group needs no brackets around an id; references are also people who recommend somebody, X-User-Id is a person.
 */
const ID_FIELD =
  /(?:^|[^A-Za-z])(?:((?:[\w-]{1,32}[-_])?(?:message|msg|content|call)[-_ ]?id|in[-_ ]?reply[-_ ]?to)|x-[\w-]{1,32}-id|references|supersedes)\\?["']?(?:,\s{0,8}["']value["'])?\]?\s{0,3}([:=|]?)$|(?:^|[^A-Za-z])([cm]id)(:)$/i;
const LONGEST_ID_FIELD = 72;
/** What stands between two ids of a field: spaces of folded lines, marks of quoted ones, the signs of a list. */
const BETWEEN_IDS = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\s<>"'`,[\]\\]/.test(String.fromCharCode(code))),
);
const isBetweenIds = (code: number): boolean => BETWEEN_IDS[code] === 1;
const isInId = (code: number): boolean => BETWEEN_IDS[code] !== 1;
const LONGEST_ID = 250;
/** How far before an address the field is looked for. */
const REACH_OF_FIELD = 1_900;
/** An id that begins with a time, and one of an event in a calendar (RFC 5545 section 3.8.4.7). */
const TIMED_ID = /^\d{14}\./;
const LONGEST_TIMED = 15;
const OF_EVENT = "UID:";

/** Reports whether the address whose name begins at `start` is the id of a mail: in its field, perhaps after others. */
function isMessageId(text: string, start: number): boolean {
  const opened = startOf(text, start, isInId, LONGEST_ID);
  if (TIMED_ID.test(text.slice(start, start + LONGEST_TIMED)) || text.startsWith(OF_EVENT, opened)) return true;
  const isBracketed = text[opened - 1] === "<";
  let at = isBracketed ? opened : start;
  while (start - at < REACH_OF_FIELD) {
    spend(CHECK_UNITS);
    const end = startOf(text, at, isBetweenIds, LONGEST_ID);
    const field = ID_FIELD.exec(text.slice(Math.max(0, end - LONGEST_ID_FIELD), end));
    if (field !== null) return isBracketed || ((field[1] ?? field[3]) !== undefined && field[2] !== "");
    at = startOf(text, end, isInId, LONGEST_ID);
    if (!isBracketed || !text.slice(at, end).includes("@")) return false;
  }
  return false;
}

/** Where the run of units that ends at `end` begins. */
function startOf(text: string, end: number, isIn: (code: number) => boolean, longest: number): number {
  let start = end;
  while (start > 0 && end - start < longest && isIn(text.charCodeAt(start - 1))) start--;
  return start;
}

const HANDLE_BEFORE = /(?<![\w.-])[A-Za-z0-9][\w.-]{2,63}$/;

/** `9820413377@okicici`: who is paid, at the end of the address that begins with `@`. */
export function paymentHandle(text: string, start: number, end: number): Hit | null {
  if (/[\w.@-]/.test(text[end] ?? "") && !/^\.(?:\W|$)/.test(text.slice(end, end + 2))) return null;
  spend(CHECK_UNITS);
  const local = HANDLE_BEFORE.exec(text.slice(Math.max(0, start - LONGEST_LOCAL), start));
  return local && hitOf("bank_account", start - local[0].length, end);
}

function characterBefore(text: string, at: number): string {
  const code = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff && at > 1 ? text.slice(at - 2, at) : (text[at - 1] as string);
}

/** Words of a manual or a form before an address in a domain for examples. */
const INSTRUCTION =
  /(?<!\p{L})(?:e\.g|i\.e|example|examples|such as|placeholder|format|sample|demo|z\. ?b|beispiel|p\. ?ej|ejemplo|par ex|exemple|por exemplo|p\. ?ex|exemplo|ad es|esempio|bijv|bijvoorbeeld|np|przykład|např|t\. ?ex|exempel|f\.eks|eksempel|esim|örn|örneğin|π\.χ|например|наприклад|приклад|例如|例えば|例|예|예를 들어|उदाहरण|مثال|לדוגמה|ví dụ|contoh|de exemplu|például)[\p{L}.]*[\s:=，、(<"'`]{0,4}$|[?&]\w{1,16}=$|placeholder\s?[=:]\s?["']$/iu;

const isInstruction = (text: string, start: number): boolean =>
  INSTRUCTION.test(text.slice(Math.max(0, start - 32), start));

/** `scheme://user@host` and `scheme://user:secret@host` are no addresses. */
function isUserinfo(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 80), start);
  return /:\/\/[^\s/@]*$/.test(before) || /^:[\w/~]/.test(text.slice(end, end + 2));
}
