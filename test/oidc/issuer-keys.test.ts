/** The keys of an issuer: how long they are used, and when they are fetched again. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { IssuerKeys } from "../../src/oidc/issuer-keys.ts";
import { verifyToken } from "../../src/oidc/workload-token.ts";
import { IssuerByHand } from "../account/issuer-by-hand.ts";

const MINUTE_MS = 60_000;
let issuer: IssuerByHand;
let other: CryptoKeyPair;

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  other = await generateKeyPair("ES256", { extractable: true });
});
beforeEach(() => {
  issuer.isDown = false;
  issuer.metadata = {};
  issuer.published = { members: {}, beside: [] };
  issuer.publish(issuer.firstKeys);
  issuer.keysAsked = 0;
});
afterAll(() => issuer[Symbol.asyncDispose]());

/** One who keeps the keys, with a clock that the test moves. */
class Keeper {
  nowMs = 0;
  readonly troubles: string[] = [];
  readonly keys: IssuerKeys;

  constructor(ca: () => string | null = () => issuer.authority.cert) {
    this.keys = new IssuerKeys({
      issuer: issuer.url,
      ca,
      monotonicMs: () => this.nowMs,
      onTrouble: ({ reason }) => this.troubles.push(reason),
    });
  }

  /** Returns the subject of a token, or why it is refused. */
  async verify(token: string): Promise<string> {
    try {
      return (await verifyToken(token, this.keys.find, { issuer: issuer.url, nowMs: Date.now() })).subject;
    } catch (error) {
      return (error as { reason: string }).reason;
    }
  }
}

const claims: JWTPayload = { sub: "s", aud: "a" };

test("are fetched once for many tokens, and again after five minutes", async () => {
  const keeper = new Keeper();
  const token = await issuer.token(claims);
  expect(await Promise.all([1, 2, 3].map(() => keeper.verify(token)))).toEqual(["s", "s", "s"]);
  keeper.nowMs = 4 * MINUTE_MS;
  expect(await keeper.verify(token)).toBe("s");
  expect(issuer.keysAsked).toBe(1);
  keeper.nowMs = 6 * MINUTE_MS;
  expect(await keeper.verify(token)).toBe("s");
  expect(issuer.keysAsked).toBe(2);
});

test("follow a rotation: a new key is found at once, a withdrawn one is refused after five minutes", async () => {
  const keeper = new Keeper();
  const [first, second] = [await issuer.token(claims), await issuer.token(claims, { keys: other, kid: "2" })];
  expect(await keeper.verify(first)).toBe("s");
  issuer.publish({ kid: "2", keys: other });
  expect(await keeper.verify(second)).toBe("its issuer publishes no such key");
  // Just now it was asked. Half a minute later it is asked again.
  keeper.nowMs = MINUTE_MS / 2;
  expect(await keeper.verify(second)).toBe("s");
  expect(await keeper.verify(first)).toBe("its issuer publishes no such key");
  expect(issuer.keysAsked).toBe(2);
});

test("are not fetched for every token that names another key", async () => {
  const keeper = new Keeper();
  for (let i = 0; i < 20; i++) {
    expect(await keeper.verify(await issuer.token(claims, { kid: `strange-${i}` }))).toMatch(/no such key/);
  }
  expect(issuer.keysAsked).toBe(1);
});

test("are used for an hour without their issuer, and no longer", async () => {
  const keeper = new Keeper();
  const token = await issuer.token(claims);
  expect(await keeper.verify(token)).toBe("s");
  issuer.isDown = true;
  keeper.nowMs = 59 * MINUTE_MS;
  expect(await keeper.verify(token)).toBe("s");
  keeper.nowMs = 60 * MINUTE_MS;
  expect(await keeper.verify(token)).toBe("no keys");
  issuer.isDown = false;
  keeper.nowMs += MINUTE_MS / 2;
  expect(await keeper.verify(token)).toBe("s");
  expect(keeper.troubles).toEqual(["it answers 503", "it answers 503"]);
});

const unusable: [string, () => void, RegExp][] = [
  ["is down", () => Object.assign(issuer, { isDown: true }), /^it answers 503$/],
  ["names another issuer", () => Object.assign(issuer.metadata, { issuer: "https://other.example" }), /another issuer/],
  ["has its keys without TLS", () => Object.assign(issuer.metadata, { jwks_uri: "http://localhost/k" }), /no keys/],
  [
    "has its keys nowhere",
    () => Object.assign(issuer.metadata, { jwks_uri: `${issuer.url}/nowhere` }),
    /^it answers 404$/,
  ],
];
test.each(unusable)("an issuer that %s has none", async (_name, breakIt, reason) => {
  breakIt();
  const keeper = new Keeper();
  expect(await keeper.verify(await issuer.token(claims))).toBe("no keys");
  expect(keeper.troubles).toEqual([expect.stringMatching(reason)]);
});

test("nor has one whose certificate nobody vouches for", async () => {
  const keeper = new Keeper(() => null);
  expect(await keeper.verify(await issuer.token(claims))).toBe("no keys");
  expect(keeper.troubles).toHaveLength(1);
});

test("keys of unknown kinds, and members that are null, are passed over", async () => {
  issuer.metadata = { issuer: `${issuer.url}/`, userinfo_endpoint: null };
  issuer.published = { members: { use: null, key_ops: null }, beside: [null, 1, {}, { kty: "XYZ", kid: "1" }] };
  expect(await new Keeper().verify(await issuer.token(claims))).toBe("s");
});

const now = () => Math.floor(Date.now() / 1_000);
const refused: [string, () => Promise<string>, RegExp][] = [
  ["that has expired", () => issuer.token({ ...claims, exp: now() - 70 }), /has expired/],
  ["that is not valid yet", () => issuer.token({ ...claims, nbf: now() + 70 }), /not valid yet/],
  ["without an end", () => issuer.token({ ...claims, exp: undefined } as never), /claim exp is missing/],
  ["without a subject", () => issuer.token({ aud: "a" }), /claim sub is missing/],
  ["of an empty subject", () => issuer.token({ ...claims, sub: "" }), /cannot be recorded/],
  ["of an endless subject", () => issuer.token({ ...claims, sub: "s".repeat(1_025) }), /cannot be recorded/],
  ["without an audience", () => issuer.token({ sub: "s" }), /claim aud is missing/],
  ["of another issuer", () => issuer.token({ ...claims, iss: "https://other.example" }), /claim iss/],
  ["signed by another key", () => issuer.token(claims, { keys: issuer.strangeKeys }), /signature is wrong/],
  ["with a changed end", async () => changedEnd(await issuer.token(claims)), /signature is wrong/],
  [
    "without a signature",
    async () => `${new UnsecuredJWT({ iss: issuer.url, ...claims }).encode()}AA`,
    /algorithm is not allowed/,
  ],
  [
    "signed with the public key as a secret",
    async () => {
      const secret = await crypto.subtle.exportKey("raw", issuer.firstKeys.keys.publicKey);
      return new SignJWT({ iss: issuer.url, exp: now() + 60, ...claims })
        .setProtectedHeader({ alg: "HS256", kid: "1" })
        .sign(new Uint8Array(secret));
    },
    /algorithm is not allowed/,
  ],
];
test.each(refused)("a token %s is refused", async (_name, token, reason) => {
  expect(await new Keeper().verify(await token())).toMatch(reason);
});

test.each([-55, 55])("a token of a clock that is %d s off is not", async (clockS) => {
  const token = await issuer.token({ ...claims, nbf: now() + clockS, exp: now() + clockS }, { clockS });
  expect(await new Keeper().verify(token)).toBe("s");
});

/** The same token with a later end, and the signature that it had. */
function changedEnd(token: string): string {
  const [header, payload = "", signature] = token.split(".");
  const said = JSON.parse(Buffer.from(payload, "base64url").toString());
  const changed = Buffer.from(JSON.stringify({ ...said, exp: said.exp + 1 })).toString("base64url");
  return [header, changed, signature].join(".");
}
