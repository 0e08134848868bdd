/** Places where any word is a password: the text there is a secret, whatever it looks like. */
import { matchEnd } from "../text/ascii.ts";
import type { Assigned } from "./assignment.ts";
import { isPlaceholder, mentionsPassword } from "./plausible.ts";

const SHORTEST = 5;
/** How far before the name a statement, a user or a server is looked for. */
const REACH = 320;
const USER_REACH = 200;

const SERVER_NAME = /\b(?:host|hostname|server|database|data source|dsn|smtp\w*|dbname|initial catalog)\b\W{0,12}[=:]/i;
const USER_NAME = /\b(?:user|username|user ?id|userid|uid|login)\b\W{0,24}[=:]/i;
/** The same as the last part of a longer name: `spring.datasource.username`, `POSTGRES_USER`. */
const USER_MEMBER =
  /(?:^|[\s.,;{("'_-])(?:user(?:[-_ ]?name|[-_ ]?id)?|login|uid|account|benutzer(?:name)?|usuario|usuário|utente|utilisateur|gebruiker|użytkownik|uživatel|användare|bruger|bruker|käyttäjä|felhasználó|utilizator|kullanıcı|χρήστης|пользователь|користувач|логин|логін)["']?\s{0,3}[:=]{1,2}>?\s{0,3}["']?[^\s"',;]{1,64}/i;

/** Whether a password of any kind is near its server and its user: the settings of a connection. */
export function isLogin(text: string, start: number, value: string, { link, quoted }: Assigned): boolean {
  if (
    link !== "assigned" ||
    value.length < 4 ||
    /\s|[$<{(%*[]|^pass(?:word|wd)?$|^(?:null|none|true|false|string)$|xxx/i.test(value)
  )
    return false;
  if (!quoted && (/\.|->/.test(value) || isPlaceholder(value))) return false;
  const before = text.slice(Math.max(0, start - REACH), start);
  return SERVER_NAME.test(before) && USER_NAME.test(before);
}

/** A statement of SQL that sets a password. */
const STATEMENT = /\b(?:(?:create|alter)\s+(?:user|role|login)\b[^;]{0,120}|set\s+)$/i;
/** The lookup of a variable, whose default is after it. */
const LOOKUP =
  /(?:getenv|environ(?:\.get)?|ENV(?:\.fetch)?|fetch|env|getProperty|lookup|config)\s{0,2}[([]\s{0,2}["'`]\w{0,40}$/;
const DEFAULT = /^\w{0,24}["'`]\s{0,2}[)\]]?\s{0,3}(?:\|\||\?\?|\?:|,|\bor\b)\s{0,3}["'`]$/;
/** How a program declares a variable or a member. */
const DECLARATION =
  /(?:^|[\s;{(,])(?:(?:private|public|protected|internal|static|final|const|constexpr|readonly|let|var|val|my|our|local|auto|export|char|string|String|wchar_t|NSString|std::string|#define|self\.|this\.|\$(?:this->)?)[\s*&]{0,3}){1,5}[\w.$]{0,24}$/;
/** The service that the password is for, right before its name. */
const SERVICE =
  /(?:^|[^A-Za-z]|[a-z](?=[A-Z]))(?:smtp|e?mail|imap|pop3?|s?ftp|ssh|ssl|db|database|datasource|jdbc|mysql|maria(?:db)?|postgres(?:ql)?|pg|mssql|sql|oracle|mongo(?:db)?|redis|cassandra|elastic\w*|kibana|grafana|rabbit(?:mq)?|amqp|mqtt|broker|kafka|ldap|bind|http|proxy|admin\w*|root|master|sudo|become|ansible|(?:key|trust)[-_]?store|wifi|wlan|vpn|router|jenkins|nexus|sonar|registry|docker|svn|git|sa|superuser|service|svc|backup|replication|camera|nas)[-_.]?$/i;

/** One word, perhaps of several parts, or with a number. */
const WORD = /^\p{L}[\p{L}\d_.-]{4,39}!?$/u;
const NO_VALUE =
  /^(?:required|optional|invalid|incorrect|wrong|weak|expired|missing|correct|strong|visible|changed|reset|blank|encrypted|hashed|secure|unsafe|plain|plaintext|text|needed|provided|prompt|interactive|enabled|disabled|varchar|bytes|boolean|object|optional|secretstr|credential\w*|value|config\w*|settings|options|params|input|props|data|self|this|request|response|env|environment|keychain|keyring|vault|external|inherit|auto|random|generated?|manual|show|toggle|submit|current|confirm\w*|repeat|enter|type|field|label|name|login|erforderlich|falsch|obligatoire|requis|requerid[ao]|incorrect[ao]|obrigatóri[ao]|richiesta|errata|verplicht|wymagane|anzeigen|ändern|vergessen|zurücksetzen|modifier|oublié|cambiar|olvidad[ao]|alterar|esquecid[ao]|modifica|dimenticat[ao]|wijzigen|zmień|změnit|ändra|skift|endre|vaihda)$/i;

/**
 * `define('DB_PASSWORD', …)`, `config.set("auth.password", …)`: the name of a setting in a call, followed by its value.
 */
export const isDefined = (text: string, start: number): boolean =>
  DEFINITION.test(text.slice(Math.max(0, start - LONGEST_DEFINITION), start));
const DEFINITION =
  /\b(?:define\s?\(\s{0,2}["']\w{0,40}|(?:set|put|store|add)\w{0,12}\(\s?["'](?:[\w-]{1,24}\.){1,5}[\w-]{0,24})$/i;
const LONGEST_DEFINITION = 56;

/**
 * Reports whether a value is one word that may be a password, and not one that programs write where a password goes.
 */
export const isOneWord = (value: string): boolean => WORD.test(value) && !NO_VALUE.test(value);

/** Reports whether the value of the password's name `[start, nameEnd)` is a password, although it may be any word. */
export function isMeant(text: string, start: number, nameEnd: number, value: Assigned): boolean {
  const said = text.slice(value.start, value.end);
  if (value.quoted && (isPhrase(text, start, nameEnd, value) || isNetworkPhrase(text, start, nameEnd, value)))
    return true;
  if (said.length < SHORTEST || /\s/.test(said) || isPlaceholder(said) || /^[A-Z_]+$/.test(said)) return false;
  const before = text.slice(Math.max(0, start - REACH), start);
  if (value.quoted && isCompared(text, nameEnd, value)) return true;
  if (isNetrc(before)) return true;
  if (
    value.quoted &&
    (STATEMENT.test(before) ||
      (/identified by$/i.test(text.slice(start, nameEnd)) && /^\s{1,8}["'`]$/.test(text.slice(nameEnd, value.start))))
  )
    return true;
  // `//registry.acme.test/:_password=…` of npm: Base64.
  if (before.endsWith(":_")) return true;
  if (PAIR_OF_WORDS.test(said)) return isSetting(text, nameEnd, value) && USER_MEMBER.test(before.slice(-USER_REACH));
  if (!WORD.test(said) || NO_VALUE.test(said) || mentionsPassword(said)) return false;
  if (isElement(text, start, nameEnd, value)) return true;
  if (value.link === "assigned" && OPTION.test(before) && text[value.start - 1] !== " ") return true;
  if (isForCommand(text, start, nameEnd, value)) return true;
  if (value.link === "assigned" && NETWORK_KEY.test(text.slice(start, nameEnd)) && said.length >= SHORTEST_NETWORK_KEY)
    return value.quoted || isSetting(text, nameEnd, value);
  if (value.link === "beside") return value.quoted && (BEHIND_QUOTED.test(before) || DEFINED.test(before));
  if (value.link !== "assigned") return false;
  const operator = text.slice(nameEnd, value.start);
  if (value.quoted && isDefined(text, start)) return true;
  if (!/[:=>]/.test(operator)) return false;
  if (value.quoted && MEMBER_VALUE.test(operator)) return true;
  if (value.quoted && LOOKUP.test(before) && DEFAULT.test(text.slice(nameEnd, value.start))) return true;
  if (value.quoted && ELEMENT.test(before)) return true;
  if (isSetByCommand(text, before, nameEnd, value)) return true;
  if (!value.quoted && !isSetting(text, nameEnd, value))
    return isInPair(text, before, value) || isInComment(text, start, nameEnd, operator, value);
  if (SERVICE.test(before) || isVariable(text, start, nameEnd, operator) || isProperty(text, nameEnd, operator, value))
    return true;
  if (value.quoted && isDeclared(text, before, nameEnd, value)) return true;
  return isBehindUser(text, start);
}

/** Reports whether a member for a user is before the name at `start`. */
export const isBehindUser = (text: string, start: number): boolean =>
  USER_MEMBER.test(text.slice(Math.max(0, start - USER_REACH), start));

/** `drop&stroop`: two words that no program joins in this way after the name of a user. */
export const PAIR_OF_WORDS = /^[a-z]{3,}&[a-z]{3,}\d{0,4}$/;

/** `<property name="hibernate.connection.password">quill_and_ink</property>`, `<password>bluebird</password>`. */
const isElement = (text: string, start: number, nameEnd: number, { start: at, end }: Assigned): boolean =>
  /^["']?>\s{0,3}$/.test(text.slice(nameEnd, at)) &&
  text.startsWith("</", end) &&
  NAMED_ELEMENT.test(text.slice(Math.max(0, start - LONGEST_DEFINITION), nameEnd));
const NAMED_ELEMENT = /(?:<[\w:]{0,24}?|["'][\w-]{1,32}(?:\.[\w-]{1,32}){0,4}\.[\w-]{0,24}?)pass(?:word|wd|phrase)$/i;

/** `# RESTIC_PASSWORD=cedar_wax_wing`: a variable at the end of a line. */
const isInComment = (
  text: string,
  start: number,
  nameEnd: number,
  operator: string,
  { start: at, end }: Assigned,
): boolean =>
  isVariable(text, start, nameEnd, operator) &&
  matchEnd(LINE_END, text, end) >= 0 &&
  /^[a-z\d_.!-]+$/.test(text.slice(at, end)) &&
  !/\.[a-z]/.test(text.slice(at, end));

/** `--password=…` of any command. */
const OPTION = /\s--?[\w-]{0,24}$/;

/** `psk="dreibirken"`. */
const NETWORK_KEY = /psk|passphrase|shared.?key/i;
const SHORTEST_NETWORK_KEY = 8;

/** `user = demo01, passwort = Blaubeere!`: a capital where a program has a name, and nothing after it. */
const isInPair = (text: string, before: string, { start, end }: Assigned): boolean =>
  /^\p{Lu}\p{Ll}{4,}!?$/u.test(text.slice(start, end)) &&
  matchEnd(CLAUSE_END, text, end) >= 0 &&
  PAIRED_USER.test(before);
const PAIRED_USER = new RegExp(String.raw`${USER_MEMBER.source}["']?[\s,;/|]{1,3}$`, "i");
const CLAUSE_END = /[ \t]*(?:[,;]|[.!]?(?:\s|$))/y;

/** `$cfg['Servers'][0]['password'] = 'quillmoss'`: an element of a variable of PHP. */
const ELEMENT = /\$\w{1,32}(?:\[["']?[$\w.-]{1,32}["']?\]){0,4}\[["']$/;

/** `name="password" value="treacle-tart"`, `"type": "password", "value": "dalwhinnie"`. */
const MEMBER_VALUE = /^["'](?:\s{1,3}|\s{0,3},\s{0,8})["']?value["']?\s{0,3}[:=]\s{0,3}["']$/i;

/** `RESTIC_PASSWORD=cullenskink`: a variable of the environment that is no switch. */
const isVariable = (text: string, start: number, nameEnd: number, operator: string): boolean =>
  /^=["']?$/.test(operator) && variableAt(text, start, nameEnd).includes("_");

/** The name of a variable of the environment that ends at `nameEnd`; empty for another name, and for a switch. */
function variableAt(text: string, start: number, nameEnd: number): string {
  const name = /(?<![A-Za-z\d_$.])(?:TF_VAR_\w*|[A-Z][A-Z\d_]*)$/.exec(
    text.slice(Math.max(0, start - USER_REACH), nameEnd),
  );
  return name === null || SWITCH.test(name[0]) ? "" : name[0];
}
const SWITCH =
  /^(?:(?:SHOW|RESET|REQUIRE|USE|HAS|ENABLE|CHANGE|FORGOT|ALLOW|MIN|MAX|NO|IS|DISABLE|SKIP|PROMPT)_|(?:OLD)?PWD$)/;

/**
 * `PGPASSWORD=marigold psql`, `ENV PGPASSWORD marigold`: a variable that is set for a command, or for those that follow.
 */
function isForCommand(
  text: string,
  start: number,
  nameEnd: number,
  { start: at, end, quoted, link }: Assigned,
): boolean {
  const name = variableAt(text, start, nameEnd);
  if (name === "") return false;
  if (link === "beside") return SETTER.test(text.slice(Math.max(0, start - LONGEST_SETTER), nameEnd - name.length));
  const isSet = /^=["']?$/.test(text.slice(nameEnd, at));
  const behind = text.slice(quoted ? end + 1 : end, end + LONGEST_SETTER);
  return isSet && /^(?:\s|["'&;|)]|$)/.test(behind) && !/[a-z][A-Z]|\.[A-Za-z]/.test(text.slice(at, end));
}
const SETTER = /(?:\bsetx|\bsetenv|\bset -\w{1,4}|\bENV)[ \t]{1,4}$/;
const LONGEST_SETTER = 24;

/** `DB_PASSWORD="thyme and rosemary"`: a few words for a variable of a service. */
const isPhrase = (text: string, start: number, nameEnd: number, { start: at, end }: Assigned): boolean =>
  PHRASE.test(text.slice(at, end)) &&
  !mentionsPassword(text.slice(at, end)) &&
  (/phrase$/i.test(text.slice(start, nameEnd)) ||
    SERVICE.test(text.slice(Math.max(0, start - LONGEST_DEFINITION), start))) &&
  isVariable(text, start, nameEnd, text.slice(nameEnd, at));
/** `psk="thirteen black cats"`. */
const isNetworkPhrase = (text: string, start: number, nameEnd: number, { start: at, end, link }: Assigned): boolean =>
  link === "assigned" && /^psk$/i.test(text.slice(start, nameEnd)) && PHRASE.test(text.slice(at, end));
const PHRASE = /^\p{L}{2,16}(?:[ -][\p{L}\d]{1,16}){1,5}[!.]?$/u;

/** `spring.security.user.password=eccles`: a line of a file of properties. */
const isProperty = (text: string, nameEnd: number, operator: string, { quoted }: Assigned): boolean =>
  !quoted &&
  operator === "=" &&
  /(?:^|\n|: )[a-z][\w-]*(?:\.[\w-]+){2,}$/.test(text.slice(Math.max(0, nameEnd - USER_REACH), nameEnd));

/** `heroku config:set MAIL_PASSWORD=lochnagar`, `vault kv put secret/app password=strathbogie`: what a command sets. */
const isSetByCommand = (text: string, before: string, nameEnd: number, { start, end }: Assigned): boolean =>
  text.slice(nameEnd, start) === "=" && /\s/.test(text[end] ?? "\n") && SET_BY_COMMAND.test(before);
const SET_BY_COMMAND =
  /(?:config:set|\s--set(?:-string)?|vault\s(?:write|kv\sput)\s[^\n]{0,80}|(?:secrets?|variables?|vars?|env)\s(?:set|add|put))[ =][\w.-]{0,60}$/;

/** `network "Fuchsbau", password "dreibirken"`: of two names in quotes, the second. */
const BEHIND_QUOTED = /["'”“»][\s,;]{1,3}(?:(?:and|with|und|et|y|e|i|og|och|en)\s)?(?:the\s)?$/;

/** `#define WIFI_PASS "dreibirken"`. */
const DEFINED = /(?:^|\n|: )[ \t]{0,8}#[ \t]{0,4}define[ \t]{1,4}\w{0,40}$/;

/** `password == "logmein"`: a program that compares with a literal knows the secret. */
const isCompared = (text: string, nameEnd: number, { start }: Assigned): boolean =>
  /^["'`]?\)?\s{0,3}[!=]=/.test(text.slice(nameEnd, start)) && text.slice(start - 1, start) !== "=";

/** `machine … login … password …`, the form of netrc. */
const isNetrc = (before: string): boolean => /\bmachine\s+\S+\s+login\s+\S+\s+$/.test(before);

/** `String password = "…"`. */
const isDeclared = (text: string, before: string, nameEnd: number, { start }: Assigned): boolean =>
  /^\s{0,3}(?:\[\d{0,4}\]\s{0,2})?(?::\s?[&*]?\w{1,12}\s{0,2})?(?::?=|\s)\s{0,3}[("'`@u8LR]{1,4}$/.test(
    text.slice(nameEnd, start),
  ) && DECLARATION.test(before.slice(before.lastIndexOf("\n") + 1));

/** The heading of a section of an INI file. */
const SECTION = /(?:^|\n|: )[ \t]{0,4}\[[\w .:"-]{1,60}\][ \t]*\r?\n/;
const LINE_END = /[ \t]*(?:[#;][^\n]*)?(?:\r?\n|$)/y;

/** `REDIS_PASSWORD=gooseberry.fool`: in a file for the environment nothing is a member of a variable. */
const isEnvironment = (text: string, nameEnd: number, said: string): boolean =>
  /^=[^=\s]/.test(text.slice(nameEnd, nameEnd + 2)) &&
  /(?:^|\n|: )(?:export )?[A-Z][A-Z\d_]*$/.test(text.slice(Math.max(0, nameEnd - LONGEST_DEFINITION), nameEnd)) &&
  !OF_A_PROGRAM.test(said);
const OF_A_PROGRAM =
  /^(?:config|conf|cfg|settings|env|environ|process|self|this|args|opts|options|params|app|os|sys|secrets|vars?|local|module|data|request|req|response|res|ctx|context|props|state|user|input|values)\./i;

/** Whether an unquoted value is a setting, the rest of its line, and no variable of a program. */
function isSetting(text: string, nameEnd: number, { start, end }: Assigned): boolean {
  if (matchEnd(LINE_END, text, end) < 0) return false;
  const said = text.slice(start, end);
  if (/[a-z][A-Z]/.test(said) || (/\.[A-Za-z]/.test(said) && !isEnvironment(text, nameEnd, said))) return false;
  const lineStart = text.lastIndexOf("\n", nameEnd - 1) + 1;
  const name = text.slice(Math.max(lineStart, nameEnd - REACH), nameEnd);
  const operator = text.slice(nameEnd, start);
  // The context before the text in a scan ends with a colon.
  const written = lineStart === 0 ? name.slice(name.indexOf(": ") < 0 ? 0 : name.lastIndexOf(": ") + 2) : name;
  if (!/^\s{0,24}(?:export\s|-\s)?["']?[\w.-]+$/.test(written)) return false;
  const previous = text.slice(Math.max(0, lineStart - 2), lineStart);
  if (/[,{([]\s?$/.test(previous)) return false;
  return (
    operator.includes(":") ||
    /^\s{0,24}(?:-\s)?[A-Z]|export |\./.test(written) ||
    operator === "=" ||
    SECTION.test(text.slice(Math.max(0, lineStart - REACH), lineStart))
  );
}
