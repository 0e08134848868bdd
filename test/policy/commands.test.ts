/** Passwords in variables of the environment, as shells, units, images and crontabs set them, and in settings of package managers. */
import { describe, expect, test } from "bun:test";
import { decide, findingsOf } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const found = (value: string): string[] =>
  findingsOf(decide(BOTH, { key: "k", value, metadata: {} })).map(({ start, end }) => value.slice(start, end));

const VARIABLES = [
  "PGPASSWORD",
  "MYSQL_PWD",
  "RESTIC_PASSWORD",
  "SSHPASS",
  "BORG_PASSPHRASE",
  "PASSPHRASE",
  "REDISCLI_AUTH",
  "TF_VAR_db_password",
  "SMTP_PASS",
];
/** Where a variable is set; each takes the name and the value. */
const SET: readonly ((name: string, value: string) => string)[] = [
  (name, value) => `${name}=${value} run --fast`,
  (name, value) => `${name}="${value}" run --fast`,
  (name, value) => `A=1 ${name}=${value} B=2 run`,
  (name, value) => `env ${name}=${value} run`,
  (name, value) => `sudo ${name}=${value} run`,
  (name, value) => `$ ${name}=${value} run`,
  (name, value) => `kubectl exec db-0 -- env ${name}=${value} run`,
  (name, value) => `docker run -e ${name}=${value} -p 80:80 web`,
  (name, value) => `docker run -e "${name}=${value}" web`,
  (name, value) => `ssh ops@bastion "${name}=${value} run"`,
  (name, value) => `15 4 * * 1 ${name}=${value} run > /tmp/x`,
  (name, value) => `steps:\n  - run: ${name}=${value} run\n`,
  (name, value) => `(${name}=${value})`,
  (name, value) => `export ${name}='${value}'`,
  (name, value) => `[Service]\nEnvironment=${name}=${value}\n`,
  (name, value) => `Environment="A=1" "${name}=${value}"`,
  (name, value) => `FROM web\nENV A=1 ${name}=${value}\n`,
  (name, value) => `ENV ${name} ${value}`,
  (name, value) => `set ${name}=${value}`,
  (name, value) => `set ${name}=${value}&& run`,
  (name, value) => `setx ${name} ${value}`,
  (name, value) => `setenv ${name} ${value}`,
  (name, value) => `set -gx ${name} ${value}`,
  (name, value) => `$env:${name} = "${value}"; run`,
];

describe.each(VARIABLES)("%s", (name) => {
  test("is found wherever it is set, also when it is a word", () => {
    const missed = SET.map((set) => [set(name, "cloudberry"), "cloudberry"])
      .concat(SET.map((set) => [set(name, "Rt5Lm-Wq8z!"), "Rt5Lm-Wq8z!"]))
      .filter(([text = "", value = ""]) => !found(text).includes(value));
    expect(missed.map(([text]) => text)).toEqual([]);
  });

  test("is left alone when it is set to something else", () => {
    const others = ["$PW", "$(cat /run/secrets/pw)", "changeme", "true", "required", "<password>", "vault:kv/db"];
    const blocked = SET.flatMap((set) => others.map((other) => set(name, other))).filter(
      (text) => found(text).length > 0,
    );
    expect(blocked).toEqual([]);
  });
});

test("a phrase in quotes", () => {
  expect(found("BORG_PASSPHRASE='amber otter sleeping' borg list")).toEqual(["amber otter sleeping"]);
});

test.each([
  "OLDPWD=somewhere make",
  "PWD=somewhere make",
  "RESET_PASSWORD=always npm start",
  "RESTIC_PASSWORD_FILE=somewhere restic backup",
  "RESTIC_PASSWORD_COMMAND='pass show restic' restic backup",
  "NEW_PASSWORD=settings.password run",
])("%s", (text) => {
  expect(found(text)).toEqual([]);
});

const PAIR = Buffer.from("deploy:cloudberry").toString("base64");
const WORD = Buffer.from("cloudberry").toString("base64");

test.each([
  [`_auth=${PAIR}`, PAIR],
  [`_auth = "${PAIR}"`, PAIR],
  [`//npm.acme.test/:_auth=${PAIR}\nalways-auth=true`, PAIR],
  [`//npm.acme.test/:username=deploy\n//npm.acme.test/:_password=${WORD}`, WORD],
  [`//npm.acme.test/:_password="${WORD}"`, WORD],
  [`npmAuthIdent: "${PAIR}"`, PAIR],
  [`{"auths":{"ghcr.io":{"auth":"${PAIR}"}}}`, PAIR],
  [`{"auths":{"ghcr.io":{"identitytoken":"7hT2wQ9xLd4Rv8KmZ3Nc6Yb1"}}}`, "7hT2wQ9xLd4Rv8KmZ3Nc6Yb1"],
  ["[pypi]\nusername = deploy\npassword = cloudberry", "cloudberry"],
  ["machine git.acme.test\n  login deploy\n  password cloudberry", "cloudberry"],
  ['<add key="ClearTextPassword" value="cloudberry" />', "cloudberry"],
  ['{"http-basic":{"repo.acme.test":{"username":"deploy","password":"cloudberry"}}}', "cloudberry"],
])("%s", (text, secret) => {
  expect(found(text)).toContain(secret);
});

test.each([
  "_auth=$" + "{NPM_AUTH}",
  "_auth=<base64 of user:password>",
  "//npm.acme.test/:_authToken=$" + "{NPM_TOKEN}",
  "auth=oauth2-with-pkce",
  '"auth": "required"',
  "email_auth=c21hcnRjYXJkLW9yLWNvZGU=",
])("%s", (text) => {
  expect(found(text)).toEqual([]);
});
