/**
 * Every label of a key is one in the plural and above a list or a table, too, and each item is a match of its own. Drawn
 * from the list of labels, so that a new one is covered.
 */
import { describe, expect, test } from "bun:test";
import { decide, findingsOf } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { SECRET_WORDS } from "../../src/screen/secrets/secret-words.ts";
import { sampleBody } from "./samples.ts";

const SECRETS = policiesOf({ policies: { block_secrets: true } });
const found = (value: string, metadata = {}): string[] =>
  findingsOf(decide(SECRETS, { key: "k", value, metadata })).map(({ start, end }) => value.slice(start, end));

const ONE = sampleBody("n{32}", 11);
const TWO = sampleBody("n{32}", 23);
const snake = (label: string) => label.replaceAll(" ", "_");
const camel = (label: string) => label.replace(/ (\w)/g, (_, letter) => letter.toUpperCase());
const upper = (label: string) => snake(label).toUpperCase();
const plural = (label: string) => (label.endsWith("s") ? label : `${label}s`);

const OF_SENTENCES = /^(?:the|this|my|your|our|new) | (?:for|is)$/;
/** Labels that are names in programs, and are found in the singular. */
const LABELS = SECRET_WORDS.keys.filter(
  (word) => /^[a-z]+(?: [a-z]+)*$/.test(word) && !OF_SENTENCES.test(word) && found(`${snake(word)}: ${ONE}`).length > 0,
);

/** Where two secrets stand under one name. */
const CONTAINERS: Readonly<Record<string, (label: string) => string>> = {
  "a variable with a comma": (label) => `${upper(label)}=${ONE},${TWO}`,
  "a variable with names": (label) => `${upper(label)}=prod:${ONE},dev:${TWO}`,
  "a list with a remark in YAML": (label) => `${snake(label)}: # both\n  - ${ONE}\n  - ${TWO}\n`,
  "an anchor in YAML": (label) => `${snake(label)}: &both\n  prod: ${ONE}\n  dev: ${TWO}\n`,
  "a list in YAML": (label) => `a: 1\n${snake(label)}:\n  - ${ONE}\n  - "${TWO}"\nb: 2\n`,
  "a list at the margin in YAML": (label) => `${snake(label)}:\n- ${ONE}\n- ${TWO}\n`,
  "a flow list in YAML": (label) => `${snake(label)}: [${ONE}, '${TWO}']`,
  "a table in YAML": (label) =>
    `app:\n  ${snake(label)}:\n    prod: ${ONE}\n    # the other\n    dev: ${TWO}\n  b: 2\n`,
  "a table of tables in YAML": (label) => `${snake(label)}:\n  prod:\n    value: ${ONE}\n  dev:\n    value: ${TWO}\n`,
  "objects in YAML": (label) => `${snake(label)}:\n  - name: ci\n    key: ${ONE}\n  - name: cd\n    key: ${TWO}\n`,
  "a flow table in YAML": (label) => `${snake(label)}: {prod: ${ONE}, dev: ${TWO}}`,
  "a list in JSON": (label) => JSON.stringify({ a: 1, [camel(label)]: [ONE, TWO], b: "x" }),
  "a table in JSON": (label) => JSON.stringify({ [snake(label)]: { prod: ONE, dev: TWO } }, null, 2),
  "objects in JSON": (label) =>
    JSON.stringify({
      [snake(label)]: [
        { owner: "mika", key: ONE, created_at: "2027-01-02" },
        { owner: "ari", key: TWO },
      ],
    }),
  "JSON in a string": (label) => JSON.stringify({ body: JSON.stringify({ [snake(label)]: [ONE, TWO] }) }),
  "an array in TOML": (label) => `${snake(label)} = [\n  "${ONE}", # first\n  "${TWO}",\n]\n`,
  "an inline table in TOML": (label) => `${snake(label)} = { prod = "${ONE}", dev = "${TWO}" }`,
  "a table in TOML": (label) => `[app]\na = 1\n\n[${snake(label)}]\nprod = "${ONE}"\ndev = "${TWO}"\n\n[b]\nc = 2\n`,
  "a deeper table in TOML": (label) => `[app.${snake(label)}]\nprod = "${ONE}"\ndev = "${TWO}"\n`,
  "a section of an INI file": (label) => `[${snake(label)}]\nprod=${ONE}\ndev=${TWO}\n`,
  "a list in HCL": (label) => `variable "${snake(label)}" {\n  default = ["${ONE}", "${TWO}"]\n}\n`,
  "a block in HCL": (label) => `${snake(label)} {\n  prod = "${ONE}"\n  dev  = "${TWO}"\n}\n`,
  "a list in a program": (label) => `const ${camel(label)} = ["${ONE}", "${TWO}"];`,
  "elements of XML": (label) =>
    `<app>\n  <${snake(label)}>\n    <prod>${ONE}</prod>\n    <!-- the other -->\n    <dev>${TWO}</dev>\n  </${snake(label)}>\n</app>`,
  "an array in a property list": (label) =>
    `<key>${snake(label)}</key>\n<array>\n\t<string>${ONE}</string>\n\t<string>${TWO}</string>\n</array>\n<key>b</key>`,
  "a dictionary in a property list": (label) =>
    `<key>${snake(label)}</key><dict><key>owner</key><string>mika</string><key>prod</key><string>${ONE}</string><key>dev</key><string>${TWO}</string></dict>`,
  properties: (label) => `app.${snake(label)}.prod=${ONE}\napp.${snake(label)}.dev=${TWO}\n`,
  elements: (label) => `${snake(label)}[0]=${ONE}\n${snake(label)}[1]=${TWO}\n`,
};

test("there are labels", () => expect(LABELS.length).toBeGreaterThan(80));

describe.each(Object.entries(CONTAINERS))("%s", (_, container) => {
  test.each([
    ["the plural", plural],
    ["the singular", (label: string) => label],
  ])("under %s of every label", (_, form) => {
    const missed = LABELS.map((label) => container(form(label))).filter((text) => {
      const matches = found(text).join("\n");
      return !(matches.includes(ONE) && matches.includes(TWO));
    });
    expect(missed).toEqual([]);
  });
});

test.each([
  `API_KEYS="${ONE} ${TWO}"`,
  `API_KEYS="${ONE},${TWO}"`,
  `API_KEYS='${ONE};${TWO}'`,
  `API_KEYS=${ONE} ${TWO}`,
  `The API keys: ${ONE}, ${TWO}`,
  `API keys are ${ONE} and ${TWO}`,
])("%s", (text) => {
  expect(found(text)).toEqual([ONE, TWO]);
});

test("the names in metadata are labels of what is below them", () => {
  const blocked = (metadata: object) => !decide(SECRETS, { key: "k", value: "", metadata: metadata as never }).allowed;
  expect(blocked({ api_keys: [ONE, TWO] })).toBe(true);
  expect(blocked({ api_keys: { prod: ONE } })).toBe(true);
  expect(blocked({ api_keys: { count: 2, names: ["ci", "cd"] } })).toBe(false);
});

test("what is said of a key is no match", () => {
  const id = sampleBody("n{20}", 5);
  const digest = sampleBody("h{64}", 9);
  const text = JSON.stringify({
    api_keys: [
      { id: `key_${id}`, owner: "platform-team-2", sha256: digest, key: ONE, rotated_at: "2027-01-02T03:04:05Z" },
    ],
  });
  expect(found(text)).toEqual([ONE]);
});

test("the list ends where its element ends", () => {
  const other = sampleBody("n{20}", 3);
  expect(
    found(`<a><api_keys><owner>team-${other}</owner><key>${ONE}</key></api_keys><build>${other}</build></a>`),
  ).toEqual([ONE]);
});

test.each(["API_KEYS_PROD", "API_KEYS_TEST", "ACCESS_TOKENS_1", "API_KEYS__0", "client_secrets_live"])(
  "behind a label in the plural, the name goes on: %s",
  (name) => expect(found(`${name}=${ONE}`)).toEqual([ONE]),
);

test("passwords under the names of what they open", () => {
  for (const text of [
    "passwords:\n  root: Kettle-Otter91\n  nas: Blaubeer!7x\n",
    '{"passwords":{"root":"Kettle-Otter91","nas":"Blaubeer!7x"}}',
    '[passwords]\nroot = "Kettle-Otter91"\nnas = "Blaubeer!7x"\n',
    'passwords = ["Kettle-Otter91", "Blaubeer!7x"]',
  ])
    expect(found(text), text).toEqual(["Kettle-Otter91", "Blaubeer!7x"]);
});

/** The same labels with something else. */
test.each([
  "max_tokens: 4096",
  '"usage": {"prompt_tokens": 812, "tokens": {"cached": 77, "total": 889}}',
  '"passwords": "see vault"',
  "secrets: inherit",
  "secrets:\n  - name: db-credentials\n  - name: registry-2027\n",
  "imagePullSecrets:\n  - name: regcred-2027-prod\n",
  "secrets:\n  db_password:\n    file: ./secrets/db_password.txt\n  cert:\n    external: true\n",
  `secrets:\n  token: $${"{{ secrets.NPM_TOKEN }}"}\n  key: $${"{{ secrets.SIGNING_KEY }}"}\n`,
  "secrets:\n  DEPLOY_KEY:\n    required: true\n    description: Key for deploys\n",
  "api_keys: []",
  "api_keys: {}",
  `api_keys:\n  prod: $${"{PROD_KEY}"}\n  dev: <your-key>\n`,
  "api_keys:\n  prod: vault:secret/data/prod#api_key\n  dev: sm://projects/p/secrets/dev\n",
  '{"api_keys":[{"id":"key_7hT2wQ9xLd4Rv8","name":"ci","created_at":"2027-01-02T03:04:05Z"}]}',
  '{"tokens":["<|im_start|>","<|im_end|>","hello","##ing"]}',
  '{"password":{"label":"Passwort","hint":"Mindestens 8 Zeichen","error":"Das Passwort ist zu kurz!"}}',
  '{"password":{"type":"string","minLength":8,"pattern":"^(?=.*[A-Z])(?=.*\\\\d).{8,}$"}}',
  "errors:\n  password:\n    too_short: at least 8 characters\n    taken: in use since 2027\n",
  "secrets:\n  image: sha256:66459a7e1d074f265f2e7c9d46c01d71941200ed1f8138a36769cf8039833c08\n",
  "The API keys are rotated with commit 9fceb02d0ae598e95dc970b74767f19372d61af8.",
  'API keys: see the vault, item "Prod keys 2027"',
  "We store tokens in Redis under session:7f3c9ad1e2b4.",
  "partition_keys:\n  - user_id_2027\n  - order_id_7\n",
  "color tokens: --brand-500: #3b82f6; --brand-600: #2563eb;",
  'tokens:\n  color-primary: "#1a2b3c4d"\n  font: "Inter, sans-serif"\n',
  '"secrets": ["DB_PASSWORD", "STRIPE_API_KEY_2", "GH_TOKEN"]',
  "env:\n  - name: API_KEY\n    valueFrom:\n      secretKeyRef:\n        name: app-7f3c9a\n        key: api-key\n",
  'secrets = ["db-password-v2", "mail-api-key-v3"]',
  'secrets:\n  mail: "projects/blue-heron/secrets/mail-relay-api/versions/3"\n',
  '{"tokens":{"colors":{"primary500":"#1A73E8FF","shade":"rgba(12,34,56,0.8)"},"radius":{"md":"0.375rem"}}}',
  "secretKeys:\n  - key: password\n    path: db/password\n  - key: api_key_v2\n    path: api/key\n",
  '{"user":"mika","passwords":{"items":[]}}',
  '{"login":"mika","password":{"changed":"2027-01-01"}}',
  "credentials:\n  - provider: aws\n    profile: prod-2027\n    region: eu-central-1\n",
  '[tokens]\nmax = 4096\nmodel = "gpt-4o-2024-08-06"\n',
  '[secrets]\nprovider = "vault"\npath = "kv/data/app2027"\n',
  '"next_tokens": ["eyJ2IjoxfQ7hT2wQ9xLd4Rv8"]',
  "API keys:\n1. Open the console\n2. Click on Create key v2\n",
  'secret {\n  name = "app-7f3c9a2e81"\n}\n',
  "interface Credentials {\n  accessKeyId: string;\n  secretAccessKey: string;\n}",
  'opts.Nkeys = []*server.NkeyUser{{Nkey: "TEST"}}',
  '"token": {"mint": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"}',
])("%s", (text) => {
  expect(found(text)).toEqual([]);
});
