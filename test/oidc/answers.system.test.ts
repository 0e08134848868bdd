/** What issuers answer in practice: members that are null or empty, other forms of a member, and an endpoint that refuses. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { signUp, tokenOf } from "../account/browser.ts";
import { IssuerByHand } from "../account/issuer-by-hand.ts";
import { TestDaemon } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { problemPage, Visitor } from "./visitor.ts";

const files = temporaryDirectory();
let issuer: IssuerByHand;
let daemon: TestDaemon;
let subjects = 0;

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  const flags = { ...issuer.settings(files.path), oidc_role_map: "staff=member,heads=owner" };
  daemon = await TestDaemon.start({ flags });
  await signUp(daemon, tokenOf(daemon.signUpUrl));
});
beforeEach(() => {
  issuer.who = { sub: `answered-${++subjects}`, email: `person-${subjects}@example.org`, groups: ["staff"] };
  issuer.wrong = {};
  issuer.metadata = {};
  issuer.published = { members: {}, beside: [] };
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

/** Signs somebody in. Returns the role in the one workspace, or the page that says why not. */
async function signedIn(): Promise<string> {
  const person = new Visitor(daemon, issuer);
  const page = await person.signIn();
  return page === "/" ? Object.values(await person.roles()).join() : page;
}

describe("a token answer", () => {
  test.each([
    { refresh_token: "" },
    { refresh_token: null },
    { refresh_token: 7 },
    { scope: null },
    { scope: "" },
    { scope: ["openid", "email"] },
    { expires_in: null },
    { expires_in: "" },
    { expires_in: "3600" },
    { expires_in: 0 },
    { expires_in: "never" },
    { token_type: "bearer" },
    { token_type: "BEARER" },
    { token_type: null },
    { error: null, error_description: null },
    { id_token_hint: null, session_state: null, not_before_policy: 0, "not-before-policy": null },
  ])("with %j is accepted", async (answer) => {
    issuer.wrong = { answer };
    expect(await signedIn()).toBe("member");
  });

  test("needs an access token and an ID token", async () => {
    issuer.wrong = { answer: { access_token: null } };
    expect(await signedIn()).toBe(problemPage("invalid_answer"));
    issuer.wrong = { answer: { id_token: null } };
    expect(await signedIn()).toBe(problemPage("client_settings"));
    issuer.wrong = { answer: { token_type: "mac" } };
    expect(await signedIn()).toBe(problemPage("invalid_answer"));
  });
});

describe("an ID token", () => {
  test.each([
    { nbf: null },
    { auth_time: null, acr: null, amr: null, azp: null, sid: null, name: null },
    { aud: ["governd"] },
    { aud: ["governd", "another"], azp: "governd" },
    { groups: "staff" },
  ])("with %j is accepted", async (wrong) => {
    issuer.wrong = { claims: wrong };
    expect(await signedIn()).toBe("member");
  });

  test.each(["iss", "sub", "aud", "exp", "iat", "nonce"])("is refused when its %s is null", async (name) => {
    issuer.wrong = { claims: { [name]: null } };
    expect(await signedIn()).toBe(problemPage(name === "nonce" ? "nonce" : "invalid_answer"));
  });
});

describe("the userinfo endpoint", () => {
  const about = (more: object) => () => Response.json({ sub: issuer.who.sub, ...more });
  const lackingGroups = () => {
    issuer.who = { sub: issuer.who.sub };
    issuer.wrong = { claims: { groups: null, email: null } };
  };
  beforeEach(async () => {
    issuer.metadata = { userinfo_endpoint: `${issuer.url}/userinfo` };
    // The daemon uses metadata for an hour.
    await daemon.restart();
  });

  test("has what the ID token lacks, or has only as null or as an empty text", async () => {
    lackingGroups();
    issuer.wrong = { claims: { groups: "", email: "" } };
    issuer.userInfo = about({ email: `told-${subjects}@example.org`, groups: ["heads", null], name: null });
    const person = new Visitor(daemon, issuer);
    expect(await person.signIn()).toBe("/");
    expect(Object.values(await person.roles())).toEqual(["owner"]);
    expect((await person.browser.get("/account")).json.account.email).toBe(`told-${subjects}@example.org`);
  });

  const failures: [string, () => Response][] = [
    ["401 and a challenge", () => new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } })],
    ["403", () => Response.json({ error: "insufficient_scope" }, { status: 403 })],
    ["404", () => new Response("not found", { status: 404 })],
    ["500", () => new Response("failed", { status: 500 })],
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["about somebody else", () => Response.json({ sub: "another", groups: ["heads"] })],
    ["without a subject", () => Response.json({ sub: null, groups: ["heads"] })],
  ];
  test.each(failures)("ends no sign-in with %s, if the ID token has the groups", async (_name, answer) => {
    issuer.who = { sub: issuer.who.sub, groups: ["staff"] };
    issuer.userInfo = answer;
    expect(await signedIn()).toBe("member");
    expect(await daemon.log()).toContain("the issuer does not answer about a person");
  });

  test("takes no role away when it fails and only it would have the groups", async () => {
    const person = new Visitor(daemon, issuer);
    expect(await person.signIn()).toBe("/");
    lackingGroups();
    issuer.userInfo = () => Response.json({ error: "insufficient_scope" }, { status: 403 });
    expect(await signedIn()).toBe(problemPage("no_groups"));
    issuer.userInfo = () => new Response("failed", { status: 503 });
    expect(await signedIn()).toBe(problemPage("unavailable"));
    expect(Object.values(await person.roles())).toEqual(["member"]);
    // An answer without groups is an answer.
    issuer.userInfo = about({});
    expect(await signedIn()).toBe(problemPage("no_groups"));
    expect(await person.isSignedIn()).toBe(false);
  });
});

describe("metadata and keys", () => {
  test("with null where nothing is said, another slash, and keys of kinds that nobody knows", async () => {
    issuer.metadata = {
      issuer: `${issuer.url}/`,
      authorization_response_iss_parameter_supported: null,
      userinfo_endpoint: null,
      token_endpoint_auth_methods_supported: null,
      id_token_signing_alg_values_supported: null,
    };
    const beside = [null, "key", {}, { kty: "XYZ", kid: "1", alg: "ES256" }, { kty: "oct", k: "AAAA", kid: null }];
    issuer.published = { members: { use: null, key_ops: null, x5c: null, ext: null }, beside };
    issuer.wrong = { iss: `${issuer.url}/`, claims: { iss: `${issuer.url}/` } };
    await daemon.restart();
    expect(await signedIn()).toBe("member");
  });
});
