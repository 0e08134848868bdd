/** Sign-ins that one browser begins beside one another: several tabs, a double click, the back button. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { PASSWORD, type Person, signUp, tokenOf } from "../account/browser.ts";
import { IssuerByHand } from "../account/issuer-by-hand.ts";
import { TestDaemon } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { problemPage, Visitor } from "./visitor.ts";

const files = temporaryDirectory();
let issuer: IssuerByHand;
let daemon: TestDaemon;
let owner: Person;

beforeAll(async () => {
  issuer = await IssuerByHand.start();
  daemon = await TestDaemon.start({ flags: { ...issuer.settings(files.path), oidc_default_role: "member" } });
  owner = await signUp(daemon, tokenOf(daemon.signUpUrl));
});
beforeEach(() => {
  issuer.who = { sub: "tab", email: "tab@example.org" };
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const visitor = () => new Visitor(daemon, issuer);
/** The cookies of sign-ins that wait. */
const waiting = ({ browser }: Visitor) => [...browser.cookies.keys()].filter((name) => name.includes("_issuer"));

test("three tabs are finished in any order, each on its own page", async () => {
  const person = visitor();
  const [first, second, third] = [await person.begin("/a"), await person.begin("/b"), await person.begin("/c")];
  expect(waiting(person)).toHaveLength(3);
  expect(await person.back(second)).toBe("/b");
  expect(await person.back(third)).toBe("/c");
  expect(await person.back(first)).toBe("/a");
  expect(waiting(person)).toEqual([]);
  expect(await person.isSignedIn()).toBe(true);
});

test("a double click does no harm, whichever answer comes last", async () => {
  const person = visitor();
  const addresses = await Promise.all([person.begin("/x"), person.begin("/x")]);
  expect(await Promise.all(addresses.map((address) => person.back(address)))).toEqual(["/x", "/x"]);
});

test("the back button opens a sign-in that is over, and the other tabs still finish", async () => {
  const person = visitor();
  const [first, second] = [await person.begin(), await person.begin("/second")];
  expect(await person.back(first)).toBe("/");
  expect(await person.back(first)).toBe(problemPage("state_unknown"));
  expect(await person.isSignedIn()).toBe(true);
  expect(await person.back(second)).toBe("/second");
});

test("a sign-in that waited too long is refused alone", async () => {
  const person = visitor();
  const { headers } = await person.browser.get("/account/oidc/start");
  const [cookie = ""] = headers.getSetCookie();
  expect(cookie).toMatch(
    /^__Host-governd_issuer_[\w-]{16}=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
  );
  const left = await issuer.visited(headers.get("location") as string);
  const later = await person.begin();
  // The browser drops the cookie after the ten minutes.
  person.browser.cookies.delete(cookie.slice(0, cookie.indexOf("=")));
  expect(await person.back(left)).toBe(problemPage("state_unknown"));
  expect(await person.back(later)).toBe("/");
});

test("only the browser that began a sign-in finishes it, and only with that sign-in's cookie", async () => {
  const [person, thief] = [visitor(), visitor()];
  const [address, other] = [await person.begin(), await person.begin()];
  await thief.begin();
  expect(await thief.back(address)).toBe(problemPage("state_unknown"));
  expect(await thief.isSignedIn()).toBe(false);
  const [name, another] = waiting(person) as [string, string];
  const secrets = [person.browser.cookies.get(name), person.browser.cookies.get(another)] as [string, string];
  // The secret of one sign-in under the name of the other one finishes neither.
  thief.browser.cookies.set(name, secrets[1]);
  expect(await thief.back(address)).toBe(problemPage("invalid_answer"));
  expect(await person.back(address)).toBe("/");
  expect(await person.back(other)).toBe(problemPage("state_unknown"));
});

test("a refusal in one tab leaves the others", async () => {
  const person = visitor();
  const [first, second] = [await person.begin(), await person.begin("/second")];
  expect(await person.back(`${first}&iss=https%3A%2F%2Felsewhere.example.org`)).toBe(problemPage("invalid_answer"));
  expect(await person.back(second)).toBe("/second");
});

test("eight wait at most, the newest", async () => {
  const person = visitor();
  const addresses: string[] = [];
  for (let i = 0; i < 10; i++) addresses.push(await person.begin(`/${i}`));
  expect(waiting(person)).toHaveLength(8);
  const opened: string[] = [];
  for (const address of addresses) opened.push(await person.back(address));
  const unknown = problemPage("state_unknown");
  expect(opened).toEqual([unknown, unknown, ...[2, 3, 4, 5, 6, 7, 8, 9].map((i) => `/${i}`)]);
});

test("an identity is linked in one tab while somebody signs in in another", async () => {
  const person = visitor();
  for (const [name, value] of owner.browser.cookies) person.browser.cookies.set(name, value);
  const { json } = await person.browser.post("/account/oidc/link", { password: PASSWORD });
  issuer.who = { sub: "of the owner" };
  const link = await issuer.visited(json.url);
  issuer.who = { sub: "somebody else" };
  const signIn = await person.begin("/other");
  expect(await person.back(signIn)).toBe("/other");
  const { account } = (await person.browser.get("/account")).json;
  expect(account.id).not.toBe(owner.accountId);
  issuer.who = { sub: "of the owner" };
  expect(await person.back(link)).toBe("/settings");
  const again = visitor();
  await again.signIn();
  expect((await again.browser.get("/account")).json.account.id).toBe(owner.accountId);
  expect((await person.browser.get("/account")).json.account.id).toBe(account.id);
});

test("a sign-in by password and second factor in between changes nothing", async () => {
  const person = visitor();
  const { secret } = (await owner.browser.post("/account/totp", { password: PASSWORD })).json;
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  await owner.browser.post("/account/totp/confirm", { code: totp.generate() });
  const address = await person.begin("/by-issuer");
  const body = { email: owner.email, password: PASSWORD };
  expect((await person.browser.post("/account/sign-in", body)).json.code).toBe("second_factor_required");
  try {
    daemon.setClock(30_000);
    const code = totp.generate({ timestamp: Date.now() + 30_000 });
    expect((await person.browser.post("/account/sign-in", { ...body, code })).status).toBe(200);
  } finally {
    daemon.setClock(0);
  }
  expect(await person.back(address)).toBe("/by-issuer");
  expect((await person.browser.get("/account")).json.account.email).toBe("tab@example.org");
});
