import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RandomPool } from "../../src/ids.ts";
import { generateApiKey, isWellFormedApiKey } from "../../src/ops/directory/api-key.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import { numbers } from "../policy/random.ts";

describe("API keys", () => {
  test("have the documented form and a checksum that holds", () => {
    const random = new RandomPool();
    for (let i = 0; i < 1_000; i++) {
      const key = generateApiKey(random);
      expect(key).toMatch(/^gov_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/);
      expect(isWellFormedApiKey(key)).toBe(true);
    }
  });

  test("the checksum is CRC-32 of the random part in base62: a worked example", () => {
    // By the polynomial, bit by bit, to be independent of the library.
    const random = "0".repeat(32);
    let crc = 0xffffffff;
    for (const byte of Buffer.from(random)) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
    let rest = (crc ^ 0xffffffff) >>> 0;
    let text = "";
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (; text.length < 6; rest = Math.floor(rest / 62)) text = digits[rest % 62] + text;
    expect(isWellFormedApiKey(`gov_${random}_${text}`)).toBe(true);
  });

  test("any one character changed is refused", () => {
    const key = generateApiKey(new RandomPool());
    const characters = fc.constantFrom(..."0123456789ABCXYZabcxyz_- é");
    fc.assert(
      fc.property(fc.nat(key.length - 1), characters, (at, character) => {
        const changed = key.slice(0, at) + character + key.slice(at + 1);
        return changed === key || !isWellFormedApiKey(changed);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(["", "gov_", "gov__", "x".repeat(43), `${"gov_".padEnd(36, "A")}_`, "Bearer x"])(
    "%p is refused",
    (text) => {
      expect(isWellFormedApiKey(text)).toBe(false);
    },
  );

  test("use all of base62 evenly", () => {
    const counts = new Map<string, number>();
    // Bytes that are the same in every run, so that none is the one in a million.
    const next = numbers(1);
    const random = new RandomPool((bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255;
    });
    for (let i = 0; i < 4_000; i++) {
      for (const character of generateApiKey(random).slice(4, 36)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(62);
    const expected = (4_000 * 32) / 62;
    // Chi-squared with 61 degrees of freedom is above 130 once in a million times.
    const chi = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chi).toBeLessThan(130);
  });

  test("what is stored is SHA-256", () => {
    expect(Buffer.from(digestOf("abc")).toString("hex")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});
