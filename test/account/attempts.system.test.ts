import { expect, test } from "bun:test";
import { networkOf } from "../../src/core/cell-rate.ts";
import { Attempts } from "../../src/ops/accounts/attempts.ts";
import { Problem } from "../../src/problem.ts";
import { TestDaemon } from "../support/daemon.ts";
import { freshEmail, PASSWORD, tokenOf } from "./browser.ts";

const HOUR_MS = 3_600_000;

function tries(attempts: Attempts, count: number, at: (i: number) => { email: string; address: string }): number {
  let taken = 0;
  for (let i = 0; i < count; i++) {
    try {
      attempts.signIn({ device: null, ...at(i) });
      taken++;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }
  return taken;
}

test("an account under a distributed attack still accepts each address's first attempt", () => {
  let now = 0;
  const attempts = new Attempts(() => now);
  const email = "ada@example.com";
  expect(tries(attempts, 1_000, (i) => ({ email, address: `10.1.${i >> 8}.${i & 255}` }))).toBe(1_000);
  // The account's own count is used up: every address has one try left, and none that tried.
  expect(tries(attempts, 10, () => ({ email, address: "10.1.2.3" }))).toBe(0);
  expect(tries(attempts, 10, () => ({ email, address: "192.0.2.1" }))).toBe(1);
  expect(tries(attempts, 10, () => ({ email: "grace@example.com", address: "192.0.2.1" }))).toBe(5);
  now += HOUR_MS;
  expect(tries(attempts, 10, () => ({ email, address: "192.0.2.1" }))).toBe(5);
});

test("successes do not count, and many at once gain nothing", () => {
  const attempts = new Attempts(() => 0);
  const one = { email: "ada@example.com", address: "192.0.2.1", device: null };
  for (let i = 0; i < 100; i++) attempts.signIn(one).succeeded();
  const open = Array.from({ length: 5 }, () => attempts.signIn(one));
  expect(() => attempts.signIn(one)).toThrow(Problem);
  for (const attempt of open) attempt.succeeded();
  attempts.signIn(one);
});

test("an address that guesses at many accounts is stopped", () => {
  const attempts = new Attempts(() => 0);
  expect(tries(attempts, 100, (i) => ({ email: `${i}@example.com`, address: "192.0.2.1" }))).toBe(30);
});

test("what is remembered is bounded", () => {
  const attempts = new Attempts(() => 0);
  const address = (i: number) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
  expect(tries(attempts, 60_000, (i) => ({ email: `${i}@example.com`, address: address(i) }))).toBe(60_000);
});

test("a network of IPv6 is one address", () => {
  expect(networkOf("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
  expect(networkOf("2001:db8::1")).toBe("2001:db8:0:0::/64");
  expect(networkOf("::1")).toBe("0:0:0:0::/64");
  expect(networkOf("::ffff:192.0.2.1")).toBe("192.0.2.1");
  expect(networkOf("192.0.2.1")).toBe("192.0.2.1");
});

test("behind a proxy the client's own address counts, and none that it makes up", async () => {
  await using daemon = await TestDaemon.start({ flags: { tls: "off", trusted_proxies: "127.0.0.1" } });
  const send = (path: string, address: string, body: object) =>
    fetch(daemon.url + path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-forwarded-proto": "https",
        "x-forwarded-for": address,
        origin: `https://${new URL(daemon.url).host}`,
      },
      body: JSON.stringify(body),
    });
  const email = freshEmail();
  const token = tokenOf(daemon.signUpUrl);
  expect((await send("/account/sign-up", "198.51.100.1", { email, password: PASSWORD, token })).status).toBe(201);
  const statuses = [];
  for (let i = 0; i < 7; i++) {
    const made = `10.0.0.${i}, 203.0.113.7`;
    statuses.push((await send("/account/sign-in", made, { email, password: "wrong" })).status);
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  expect((await send("/account/sign-in", "198.51.100.1", { email, password: PASSWORD })).status).toBe(200);
});

test("behind a proxy that names the default port, a browser that leaves it out can sign in, and no other page", async () => {
  await using daemon = await TestDaemon.start({
    flags: { tls: "off", trusted_proxies: "127.0.0.1", hostnames: "gov.example.org" },
  });
  const signIn = async (host: string, origin: string) => {
    const response = await fetch(`${daemon.url}/account/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-proto": "https", host, origin },
      body: JSON.stringify({ email: freshEmail(), password: "wrong" }),
    });
    return response.status;
  };
  expect(await signIn("gov.example.org:443", "https://gov.example.org")).toBe(401);
  expect(await signIn("GOV.example.org:443", "https://gov.example.org")).toBe(401);
  expect(await signIn("gov.example.org:443", "https://gov.example.org:8443")).toBe(403);
  expect(await signIn("gov.example.org:443", "http://gov.example.org")).toBe(403);
  expect(await signIn("gov.example.org:8443", "https://gov.example.org")).toBe(403);
});
