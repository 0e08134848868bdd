/** The rules for the claims of every token: times and their tolerance, nulls, audiences, names of issuers. */
import { expect, test } from "bun:test";
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { parseAnswer } from "../../src/oidc/answers.ts";
import { verifyToken } from "../../src/oidc/workload-token.ts";

const NOW_S = 1_800_000_000;
const ISSUER = "https://ci.example.org";
const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
const keys = createLocalJWKSet({ keys: [await exportJWK(publicKey)] });

/** Returns the subject of a workload's token, or why it is refused. A claim that is undefined is left out. */
async function read(claims: Record<string, unknown>, header: object = {}): Promise<string> {
  const all = { iss: ISSUER, sub: "job", aud: "governd", iat: NOW_S, exp: NOW_S + 300, ...claims };
  const signed = new SignJWT(asSent(all) as JWTPayload).setProtectedHeader({ alg: "ES256", ...header });
  try {
    const expected = { issuer: ISSUER, nowMs: NOW_S * 1_000 + 999 };
    return (await verifyToken(await signed.sign(privateKey), keys, expected)).subject;
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

const asSent = (claims: object): unknown => JSON.parse(JSON.stringify(claims));

test.each([
  ["exp", -59, "job"],
  ["exp", -60, "it has expired"],
  ["nbf", 60, "job"],
  ["nbf", 61, "it is not valid yet"],
  ["iat", 60, "job"],
  ["iat", 61, "it was issued in the future"],
  ["iat", -1_000_000, "job"],
] as const)("%s %d seconds from now: %s", async (claim, seconds, result) => {
  expect(await read({ [claim]: NOW_S + seconds })).toBe(result);
});

test.each([
  [{ nbf: null, iat: null, jti: null, azp: null }, "job"],
  [{ iat: undefined }, "job"],
  [{ aud: ["other", "governd"] }, "job"],
  [{ aud: [] }, "job"], // the rules compare the audience
  [{ iss: `${ISSUER}/` }, "job"],
  [{ iss: `${ISSUER}//` }, "its claim iss is missing or not right"],
  [{ iss: null }, "its claim iss is missing or not right"],
  [{ exp: null }, "its claim exp is missing or not right"],
  [{ exp: "2099" }, "its claim exp is missing or not right"],
  [{ sub: null }, "its claim sub is missing or not right"],
  [{ sub: 7 }, "its subject cannot be recorded"],
  [{ aud: null }, "its claim aud is missing or not right"],
  [{ aud: ["governd", 7] }, "its claim aud is missing or not right"],
  [{ nbf: true }, "its claim nbf is missing or not right"],
] as const)("%j: %s", async (claims, result) => {
  expect(await read(claims)).toBe(result);
});

test("a key id that is null names no key", async () => {
  expect(await read({}, { kid: null })).toBe("job");
  expect(await read({}, { kid: "another" })).toBe("its issuer publishes no such key");
});

test("null counts as absent at any depth", () => {
  expect(parseAnswer('{"a":null,"b":{"c":null,"d":0},"e":[{"f":null}]}')).toEqual({ b: { d: 0 }, e: [{}] });
});
