/** Which address counts as the client's behind proxies: what they append decides, never what the client wrote. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalAddress, Networks } from "../../src/networks.ts";
import { clientAddress } from "../../src/serve/http/pipeline/trusted-proxy.ts";

const PROXIES = new Networks(["10.0.0.0/8", "2001:db8:a::/48", "fe80::/10"]);
const PEER = "10.0.0.1";

const seen = (forwarded: string, peer: string | null = PEER, proxies: Networks | undefined = PROXIES) =>
  clientAddress(proxies, peer, new Headers({ "x-forwarded-for": forwarded }));

describe("what gateways append is read", () => {
  const forms: [string, string][] = [
    ["203.0.113.9", "203.0.113.9"],
    ["203.0.113.9:51234", "203.0.113.9"],
    ['"203.0.113.9:51234"', "203.0.113.9"],
    ["\t203.0.113.9 ", "203.0.113.9"],
    ["2001:DB8:0:0::9", "2001:db8::9"],
    ["[2001:db8::9]", "2001:db8::9"],
    ["[2001:db8::9]:443", "2001:db8::9"],
    ['"[2001:db8::9]:443"', "2001:db8::9"],
    ["2001:db8::9%eth0", "2001:db8::9"],
    ["[2001:db8::9%25en1]:80", "2001:db8::9"],
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["[::ffff:cb00:7109]:8080", "203.0.113.9"],
    ["0:0:0:0:0:ffff:203.0.113.9", "203.0.113.9"],
  ];
  for (const [element, address] of forms) {
    test(element, () => {
      expect(seen(element)).toBe(address);
      expect(seen(`192.0.2.66, ${element}, 10.7.7.7:80,[2001:db8:a::5]:443`)).toBe(address);
    });
  }
});

describe("what cannot be read ends the search at the proxy that appended it", () => {
  const unreadable = [
    ..."unknown|UNKNOWN|_hidden|_x1:80|unix:|-|localhost|proxy.example.org|for=192.0.2.4|203.0.113".split("|"),
    ..."203.0.113.999|203.0.113.09|203.0.113.9:|203.0.113.9:http|[2001:db8::9|2001:db8::9]|[2001:db8::9]443".split("|"),
    ...'[203.0.113.9]:80|"203.0.113.9|203.0.113.9 10.0.0.3|203.0.113.9;80|10.0.0.0/8|::%|%eth0|'.split("|"),
  ];
  for (const element of unreadable) {
    test(JSON.stringify(element), () => {
      expect(seen(`192.0.2.66,${element}`)).toBe(PEER);
      expect(seen(`192.0.2.66, ${element}, 10.9.9.9`)).toBe("10.9.9.9");
      expect(seen(`192.0.2.66, ${element}, 203.0.113.9, 10.9.9.9`)).toBe("203.0.113.9");
    });
  }
});

test("only a trusted peer is believed, and only with proxies in the settings", () => {
  expect(seen("203.0.113.9", "198.51.100.1")).toBe("198.51.100.1");
  expect(seen("203.0.113.9", null)).toBe("unknown");
  expect(clientAddress(undefined, PEER, new Headers({ "x-forwarded-for": "203.0.113.9" }))).toBe(PEER);
  expect(seen("203.0.113.9", "::ffff:10.0.0.1")).toBe("203.0.113.9");
  expect(seen("203.0.113.9", "fe80::1%eth0")).toBe("203.0.113.9");
});

test("a client inside the proxies' networks is the outermost address", () => {
  expect(seen("10.3.3.3, 10.2.2.2")).toBe("10.3.3.3");
  expect(clientAddress(PROXIES, PEER, new Headers())).toBe(PEER);
});

test("a network in mapped form is the IPv4 network", () => {
  const mapped = new Networks(["::ffff:192.0.2.0/120"]);
  expect([mapped.includes("192.0.2.7"), mapped.includes("192.0.3.7"), mapped.includes("::ffff:192.0.2.7")]).toEqual([
    true,
    false,
    true,
  ]);
  expect(() => new Networks(["::ffff:192.0.2.0/95"])).toThrow(TypeError);
});

test("an address has one spelling", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const canonical = canonicalAddress(text) as string;
      expect(canonicalAddress(text.toUpperCase())).toBe(canonical);
      expect(canonicalAddress(canonical)).toBe(canonical);
      expect(new Networks([text]).includes(canonical)).toBe(true);
    }),
  );
});

/** How a hop is written: an address in one of the forms, or words that are no address. */
const written = (address: string) => {
  const [isSix, port] = [address.includes(":"), fc.integer({ min: 1, max: 65_535 })];
  return fc.oneof(
    fc.constant(address),
    port.map((at) => (isSix ? `[${address}]:${at}` : `${address}:${at}`)),
    port.map((at) => (isSix ? `"[${address}]:${at}"` : `"${address}:${at}"`)),
    fc.constant(isSix ? `[${address}]` : `::ffff:${address}`),
    fc.constant(isSix ? address.toUpperCase() : ` ${address}\t`),
  );
};
const proxy = fc.oneof(
  fc.ipV4().map((address) => address.replace(/^\d+/, "10")),
  fc.integer({ min: 1, max: 0xffff }).map((last) => `2001:db8:a::${last.toString(16)}`),
);
const stranger = fc.oneof(
  fc.ipV4().map((address) => address.replace(/^\d+/, "203")),
  fc.integer({ min: 1, max: 0xffff }).map((last) => `2001:db8:b::${last.toString(16)}`),
);
const words = fc.constantFrom("unknown", "_a", "", "-", "300.1.1.1", "a:1", "[::g]:1");
/** What one proxy appends: the address of a proxy, that of a stranger, or words. */
const appended = fc.oneof(
  proxy.chain((address) => written(address).map((text) => ({ text, proxy: address, client: null }))),
  stranger.chain((address) => written(address).map((text) => ({ text, proxy: null, client: address }))),
  words.map((text) => ({ text, proxy: null, client: null })),
);
const forged = fc.array(fc.oneof(proxy, stranger, words, fc.string({ unit: "grapheme-ascii" })), { maxLength: 4 });

test("whatever a client writes, only what trusted proxies appended decides", () => {
  fc.assert(
    fc.property(forged, fc.array(appended, { minLength: 1, maxLength: 5 }), (said, hops) => {
      // The chain from the daemon outwards: as long as the hops are proxies, each of them was the next one's peer.
      const end = hops.findLastIndex((hop) => hop.proxy === null);
      fc.pre(end !== -1);
      const lastProxy = hops[end + 1]?.proxy ?? PEER;
      const expected = hops[end]?.client ?? lastProxy;
      const header = [...said.map((text) => text.replace(/[^ -~]/g, "")), ...hops.map(({ text }) => text)].join(", ");
      expect(seen(header)).toBe(canonicalAddress(expected) as string);
    }),
    { numRuns: 2_000 },
  );
});
