import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ID_ALPHABET, IdSource, RandomPool } from "../../src/ids.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { makeWorkspaceSecret, workspaceOfSecret } from "../../src/ops/directory/workspace-secret.ts";
import { numbers } from "../policy/random.ts";

const WORKSPACE = "ws_01h455vb4pex5vsknk084sn02q";

/** CRC-32 by its polynomial, bit by bit, to be independent of the library. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Returns the 7 digits of a checksum, by division. */
function digits(checksum: number): string {
  let rest = checksum;
  let text = "";
  for (; text.length < 7; rest = Math.floor(rest / 32)) text = ID_ALPHABET[rest % 32] + text;
  return text;
}

describe("API keys", () => {
  test("have the documented form, and name their workspace", () => {
    const random = new RandomPool();
    const ids = new IdSource();
    for (let i = 0; i < 1_000; i++) {
      const workspaceId = ids.next("ws");
      const key = makeWorkspaceSecret("gov_", workspaceId, random);
      expect(key).toMatch(/^gov_[0-9a-hjkmnp-tv-z]{26}_[0-9a-hjkmnp-tv-z]{32}_[0-9a-hjkmnp-tv-z]{7}$/);
      expect(key.slice(0, 30)).toBe(`gov_${workspaceId.slice(3)}`);
      expect(workspaceOfSecret("gov_", key)).toBe(workspaceId);
    }
  });

  test("the token of an invitation has the same form with another prefix, and neither is taken for the other", () => {
    const random = new RandomPool();
    const [key, token] = (["gov_", "inv_"] as const).map((prefix) => makeWorkspaceSecret(prefix, WORKSPACE, random));
    expect(token).toMatch(/^inv_[0-9a-hjkmnp-tv-z]{26}_[0-9a-hjkmnp-tv-z]{32}_[0-9a-hjkmnp-tv-z]{7}$/);
    expect(workspaceOfSecret("inv_", token as string)).toBe(WORKSPACE);
    expect(workspaceOfSecret("gov_", token as string)).toBeNull();
    expect(workspaceOfSecret("inv_", key as string)).toBeNull();
    // Nor by another prefix in the same text, which has another checksum.
    expect(workspaceOfSecret("inv_", (key as string).replace("gov_", "inv_"))).toBeNull();
  });

  test("the checksum is CRC-32 of everything before it, in the digits of ids", () => {
    for (const secret of ["0".repeat(32), "z".repeat(32), "0123456789abcdefghjkmnpqrstvwxyz"]) {
      const before = `gov_${WORKSPACE.slice(3)}_${secret}_`;
      expect(workspaceOfSecret("gov_", before + digits(crc32(before)))).toBe(WORKSPACE);
      // Over less than everything.
      for (const less of [secret, before.slice(0, -1), before.slice(4)]) {
        expect(workspaceOfSecret("gov_", before + digits(crc32(less)))).toBeNull();
      }
    }
  });

  test("any one character changed is refused", () => {
    const key = makeWorkspaceSecret("gov_", WORKSPACE, new RandomPool());
    const characters = fc.constantFrom(..."0123456789ABCXYZabcxyz_- é");
    fc.assert(
      fc.property(fc.nat(key.length - 1), characters, (at, character) => {
        const changed = key.slice(0, at) + character + key.slice(at + 1);
        return changed === key || workspaceOfSecret("gov_", changed) === null;
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["another prefix", (key: string) => `gow${key.slice(3)}`],
    ["a workspace that is no id", (key: string) => `gov_8${key.slice(5)}`],
    ["a letter that ids do not have", (key: string) => `${key.slice(0, 40)}u${key.slice(41)}`],
    ["capital letters", (key: string) => `gov_${key.slice(4).toUpperCase()}`],
    ["other separators", (key: string) => key.replaceAll("_", "-")],
  ])("%s is refused, also when the checksum holds", (_what, change) => {
    const before = change(makeWorkspaceSecret("gov_", WORKSPACE, new RandomPool())).slice(0, -7);
    expect(workspaceOfSecret("gov_", before + digits(crc32(before)))).toBeNull();
  });

  test.each(["", "gov_", "gov__", "x".repeat(71), `${"gov_".padEnd(63, "a")}_`, "Bearer x"])(
    "%p is refused",
    (text) => {
      expect(workspaceOfSecret("gov_", text)).toBeNull();
    },
  );

  test("use all digits evenly", () => {
    const counts = new Map<string, number>();
    // Bytes that are the same in every run, so that none is the one in a million.
    const next = numbers(1);
    const random = new RandomPool((bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255;
    });
    for (let i = 0; i < 4_000; i++) {
      for (const character of makeWorkspaceSecret("gov_", WORKSPACE, random).slice(31, 63)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(32);
    const expected = 4_000;
    // Chi-squared with 31 degrees of freedom is above 85 once in a million times.
    const chi = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chi).toBeLessThan(85);
  });

  test("what is stored is SHA-256", () => {
    expect(Buffer.from(digestOf("abc")).toString("hex")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});
