/** A secret is found wherever its word announces it, and words without a secret are harmless. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of other languages are what is tested
import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

function detectors(value: string, key = "k", metadata: JsonObject = {}): string[] {
  const decision = decide(policiesOf({ policies: { block_secrets: true } }), { key, value, metadata });
  return decision.allowed ? [] : decision.findings.map((one) => one.detector);
}
const KEY = "q8Zt2LmW0vXr5Hs7Bd1Ky4Np";

const ANNOUNCED: readonly string[] = [
  `{"apiKey": "${KEY}"}`,
  `{\\"api_key\\": \\"${KEY}\\"}`,
  `api_key: ${KEY}`,
  `export SERVICE_API_KEY=${KEY}`,
  `SERVICE_API_KEY='${KEY}' ./run`,
  `curl -H "X-Api-Key: ${KEY}" https://internal/x`,
  `deploy --token ${KEY} --yes`,
  `deploy --api-key=${KEY}`,
  `const clientSecret = "${KEY}";`,
  `var clientSecret string = "${KEY}"`,
  `let secret_key: &str = "${KEY}";`,
  `config["secret_key"] = "${KEY}"`,
  `secret := []byte("${KEY}")`,
  `os.getenv("API_TOKEN", "${KEY}")`,
  `INSERT INTO settings (name, value) VALUES ('api_token', '${KEY}');`,
  `<add key="apiToken" value="x"/><apiToken>${KEY}</apiToken>`,
  `| api key | ${KEY} |`,
  `The API key for the weather service is ${KEY}.`,
  `access token -> ${KEY}`,
  "db password: tr0ub4dor&3",
  "The wifi password is Lark5502!",
  'Remember: the admin password for staging is "hx72QpLm".',
  "ssh into the box as deploy with password gT5#kk2p",
  "password = correct-horse-battery-42",
  "Das Passwort lautet Sonne4711!",
  "el mot de passe est Lune4711!",
  "la contraseña es Sol4711!x",
  "пароль: Zvezda4711!",
  "密码是 Xing4711!",
  'user = "app"; password = "qzvwkxjt";',
  `stripe_key = ${KEY}`,
  "postgres://app:s3cretPass@db.internal/app",
  "mongodb+srv://app:s3cretPass@cluster0.abcde.mongodb.net",
  "Server=db;Database=app;User Id=app;Password=sunflower;",
  "Authorization: Basic YXBwOnMzY3JldFBhc3M=",
  `Authorization: Bearer ${KEY}`,
  "curl -u app:s3cretPass9 https://internal/x",
  "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n-----END OPENSSH PRIVATE KEY-----",
  "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n-----END PRIVATE KEY-----",
];
for (const text of ANNOUNCED) {
  test(`secret: ${text.slice(0, 60)}`, () => expect(detectors(text)).not.toEqual([]));
}

const HARMLESS: readonly string[] = [
  "Password must be at least 12 characters and contain a digit.",
  "I forgot my password again, can you send the link?",
  "password: ${DB_PASSWORD}",
  "password: <your-password>",
  "API_KEY=your-api-key-here",
  "api_key = os.environ['API_KEY']",
  "const token = await getToken(request)",
  "config.Password = opts.Password",
  "token: string",
  "secret: xxxxxxxxxxxxxxxx",
  "password = None",
  "if password != confirmation:",
  '{"prompt_tokens": 4096, "completion_tokens": 305}',
  "https://<user>:<password>@host/repo.git",
  "postgres://localhost:5432/app",
  "mysql://${DB_USER}:${DB_PASS}@db/app",
  "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
  "Authorization: Bearer ${{ secrets.DEPLOY_TOKEN }}",
  "The key takeaway: ship smaller batches.",
  "primary_key: 550e8400-e29b-41d4-a716-446655440000",
  "github: 9fceb02d0ae598e95dc970b74767f19372d61af8",
  "token_type: bearer, expires_in: 3599",
  "AWS_SECRET_ACCESS_KEY=AKIAIOSFODNN7EXAMPLE",
];
for (const text of HARMLESS) {
  test(`harmless: ${text.slice(0, 60)}`, () => expect(detectors(text)).toEqual([]));
}

test("the entry's key and metadata names are the words for their values", () => {
  expect(detectors("Lark5502!x", "wifi/password")).toEqual(["generic_credential"]);
  expect(detectors(KEY, "service/api_token")).toEqual(["generic_credential"]);
  expect(detectors(KEY, "note/1")).toEqual([]);
  expect(detectors("ok", "note/1", { db: { password: "Lark5502!x" } })).toEqual(["generic_credential"]);
});
