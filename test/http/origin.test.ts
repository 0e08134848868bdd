/** A host and the origin of its pages: browsers leave the default port out, and proxies may not. */
import { describe, expect, test } from "bun:test";
import { isOriginOf, originOfHost, ownOrigin } from "../../src/api/origin.ts";
import { OwnHosts } from "../../src/serve/http/own-hosts.ts";

describe("an origin and a host", () => {
  test.each([
    ["https://gov.example.org", "gov.example.org"],
    ["https://gov.example.org", "gov.example.org:443"],
    ["https://gov.example.org:443", "gov.example.org"],
    ["https://GOV.example.org", "gov.Example.org:443"],
    ["HTTPS://gov.example.org:8443", "gov.example.org:8443"],
    ["https://gov.example.org.", "gov.example.org.:443"],
    ["https://gov.example.org.", "gov.example.org"],
    ["https://gov.example.org:8443", "gov.example.org.:8443"],
    ["https://[2001:db8::1]", "[2001:DB8:0::1]:443"],
    ["https://[::1]:8443", "[::1]:8443"],
    ["https://agent_memory", "agent_memory:443"],
  ])("%s is of %s", (origin, host) => expect(isOriginOf(origin, host)).toBe(true));

  test.each([
    ["https://gov.example.org:8443", "gov.example.org"],
    ["https://gov.example.org", "gov.example.org:80"],
    ["http://gov.example.org", "gov.example.org"],
    ["http://gov.example.org:443", "gov.example.org:443"],
    ["https://gov.example.org", "gov.example.org.evil.test"],
    ["https://evil.test", "gov.example.org:443"],
    ["https://gov.example.org/", "gov.example.org/"],
    ["https://x@gov.example.org", "gov.example.org"],
    ["https://gov.example.org", "x@gov.example.org"],
    ["https://gov.example.org", "gov.example.org:443:443"],
    ["https://gov.example.org", "gov.example.org?"],
    ["https://", ""],
    ["null", "null"],
    ["https://gov.example.org https://evil.test", "gov.example.org"],
  ])("%s is not of %s", (origin, host) => expect(isOriginOf(origin, host)).toBe(false));
});

test("the server's own address is that of the request, as its issuer and its links know it", () => {
  const own = (host?: string) => ownOrigin(new Headers(host === undefined ? {} : { host }));
  expect(own("Gov.example.org:443")).toBe("https://gov.example.org");
  expect(own("gov.example.org:8443")).toBe("https://gov.example.org:8443");
  expect([own(), own("a b"), own("a/b"), originOfHost("a/b")]).toEqual([
    "https://localhost",
    "https://localhost",
    "https://localhost",
    null,
  ]);
});

test("a wildcard of the settings, a dot at the end and the spelling of an address name this server without TLS, too", () => {
  const hosts = new OwnHosts(["Gov.example.org", "*.gov.example.org", "fd00::7", "agent_memory", "127.0.0.1"], null);
  for (const host of ["gov.example.org:443", "gov.example.org.", "a.gov.example.org", "A.gov.example.org:8443"])
    expect([host, hosts.has(host)]).toEqual([host, true]);
  for (const host of ["[FD00:0:0::7]:443", "agent_memory:8443", "[::ffff:127.0.0.1]"])
    expect([host, hosts.has(host)]).toEqual([host, true]);
  for (const host of ["a.b.gov.example.org", "example.org", "*", ".gov.example.org", "[fd00::8]", "", "agent-memory"])
    expect([host, hosts.has(host)]).toEqual([host, false]);
});
