/** What looks like a secret and is none: ids of clients, keys for pages, ciphertexts. The secret beside it counts. */
import { describe, expect, test } from "bun:test";
import { decide, findingsOf } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { SECRET_WORDS } from "../../src/screen/secrets/secret-words.ts";
import { sampleBody } from "./samples.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const found = (value: string): string[] =>
  findingsOf(decide(BOTH, { key: "k", value, metadata: {} })).map(({ start, end }) => value.slice(start, end));

const random = (form: string, seed = 7): string => sampleBody(form, seed);
const SECRET = random("n{40}", 41);
const NAMES = ["client_id", "CLIENT_ID", "clientId", "client-id", "app_id", "ApplicationId"];

describe("ids of clients", () => {
  test("of every service, in settings, code and JSON", () => {
    const blocked = SECRET_WORDS.services
      .filter((service) => /^[a-z\d]+$/.test(service))
      .flatMap((service, index) => {
        const name = NAMES[index % NAMES.length] as string;
        const id = random(["n{32}", "t{20}", "h{20}", "'0oa't{17}"][index % 4] as string, index + 1);
        return [
          `${service}_${name}=${id}`,
          `${service}:\n  ${name}: ${id}\n`,
          `{"${service}": {"domain": "eu", "${name}": "${id}"}}`,
          `${service} ${name}: ${id}`,
        ];
      })
      .filter((text) => found(text).length > 0);
    expect(blocked).toEqual([]);
  });

  test.each(["AUTH0", "OKTA", "GITHUB", "SPOTIFY", "TWITCH"])("%s: its secret is found beside it", (service) => {
    const id = random("n{32}", service.length);
    const text = `${service}_CLIENT_ID=${id}\n${service}_CLIENT_SECRET=${SECRET}\n`;
    expect(new Set(found(text))).toEqual(new Set([SECRET]));
    expect(new Set(found(`{"${service}":{"clientId":"${id}","clientSecret":"${SECRET}"}}`))).toEqual(new Set([SECRET]));
  });

  test.each([`Iv1.${random("h{16}")}`, `Iv23li${random("n{14}")}`, `Ov23li${random("n{14}")}`])("%s", (id) => {
    expect([`github ${id}`, `GITHUB_ID=${id}`, `token = "${id}"`].filter((text) => found(text).length > 0)).toEqual([]);
  });
});

test.each([
  `pk_live_51${random("n{22}")}`,
  `pk_live_51${random("n{35}")}`,
  `pk_test_${random("n{30}")}`,
  `pk_test_${random("n{99}")}`,
  `sb_publishable_${random("n{22}")}_${random("n{8}")}`,
  `phc_${random("n{43}")}`,
])("the key for pages %s", (key) => {
  const texts = [key, `STRIPE_KEY=${key}`, `{"stripe":{"publishableKey":"${key}"}}`, `Stripe("${key}")`, `key: ${key}`];
  expect(texts.filter((text) => found(text).length > 0)).toEqual([]);
  expect(found(`STRIPE_PUBLISHABLE_KEY=${key}\nSTRIPE_SECRET_KEY=sk_live_51${SECRET}`)).not.toEqual([]);
});

test.each(["RECAPTCHA_SITE_KEY", "algolia search-only api key", "CLERK_PUBLIC_KEY", "turnstile site key"])(
  "the value of %s",
  (name) => {
    expect(found(`${name}=${random("n{40}")}`)).toEqual([]);
    expect(found(`${name.replace(/search-only|public|site/i, "SECRET")}=${random("n{40}")}`)).not.toEqual([]);
  },
);

const ENCRYPTED: Readonly<Record<string, string>> = {
  SealedSecrets: `AgB${random("b{700}")}`,
  SOPS: `ENC[AES256_GCM,data:${random("n{30}")},iv:${random("n{43}")}=,tag:${random("n{22}")}==,type:str]`,
  eyaml: `ENC[PKCS7,MIIBiQYJKoZIhvcNAQcDoIIBejCCAXYCAQAxggEhMIIBHQIB${random("n{60}")}]`,
  Jasypt: `ENC(${random("n{31}")}=)`,
  "Vault's transit engine": `vault:v1:${random("b{58}")}==`,
  "Spring Cloud": `{cipher}${random("h{64}")}`,
};

describe.each(Object.entries(ENCRYPTED))("the ciphertext of %s", (_, text) => {
  test.each([
    `password: ${text}`,
    `DB_PASSWORD=${text}`,
    `{"api_key": "${text}"}`,
    `DATADOG_API_KEY: ${text}`,
    `kind: SealedSecret\nspec:\n  encryptedData:\n    password: ${text}\n    api-token: ${text}\n`,
  ])("%s", (written) => {
    expect(found(written)).toEqual([]);
    expect(found(`${written}\nadmin_password: ${SECRET}`)).toContain(SECRET);
  });
});

test.each([
  `$ANSIBLE_VAULT;1.1;AES256\n${random("d{80}")}\n${random("d{80}")}`,
  `-----BEGIN AGE ENCRYPTED FILE-----\n${random("b{64}")}\n-----END AGE ENCRYPTED FILE-----`,
  `-----BEGIN PGP MESSAGE-----\n\n${random("b{64}")}\n=Kc9L\n-----END PGP MESSAGE-----`,
  `<server><id>nexus</id><password>{${random("n{23}")}=}</password></server>`,
])("%s", (text) => {
  expect(found(text)).toEqual([]);
});
