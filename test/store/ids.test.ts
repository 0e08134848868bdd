/** Identifiers: well formed, unique, and in the order in which they were made. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { eventId, IdSource, isId, positionOf, RandomPool, randomOf } from "../../src/ids.ts";

const LETTERS = "0123456789abcdefghjkmnpqrstvwxyz";
const MAX_MS = 2 ** 48 - 2 ** 20;

test("sort in the order made, whatever the clock and the randomness do", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: MAX_MS }), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 600 }),
      fc.integer({ min: 0, max: 255 }),
      (clock, each, byte) => {
        let now = 0;
        const ids = new IdSource(() => now, new RandomPool((bytes) => void bytes.fill(byte)));
        const made = clock.flatMap((ms) => {
          now = ms;
          return Array.from({ length: each }, () => ids.next("key"));
        });
        expect(made.every((id) => isId("key", id))).toBe(true);
        expect(new Set(made).size).toBe(made.length);
        expect([...made].sort()).toEqual(made);
      },
    ),
    { numRuns: 30 },
  );
});

test("the id of an event has its position, and 64 random bits", () => {
  const position = fc.oneof(fc.maxSafeNat(), fc.nat(9), fc.constantFrom(2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1));
  fc.assert(
    fc.property(position, fc.uint8Array({ minLength: 8, maxLength: 8 }), (seq, random) => {
      const id = new IdSource(() => 0, new RandomPool((bytes) => bytes.fill(0, 8).set(random))).event(seq);
      const value = [...id.slice(4)].reduce((sum, letter) => 32n * sum + BigInt(LETTERS.indexOf(letter)), 0n);
      expect(value.toString(16)).toBe(((BigInt(seq) << 64n) | BigInt(`0x${Buffer.from(random).toHex()}`)).toString(16));
      expect(positionOf(id)).toBe(seq);
      expect(randomOf(id)).toEqual(random);
      expect(eventId(seq, random)).toBe(id);
    }),
  );
  for (const text of [
    "",
    "key_0000000000000n55vb4pex5vsk",
    "aud_1000000000000n55vb4pex5vsk",
    "aud_8000000000000n55vb4pex5vsk",
  ])
    expect(positionOf(text)).toBe(null);
});

test("only what has the form is an id", () => {
  const id = new IdSource().next("cp");
  expect(isId("cp", id)).toBe(true);
  for (const other of [
    "",
    "cp_",
    id.toUpperCase(),
    `${id}0`,
    id.slice(0, -1),
    id.replace("cp_", "aud_"),
    `cp_8${id.slice(4)}`,
  ]) {
    expect(isId("cp", other)).toBe(false);
  }
  fc.assert(fc.property(fc.string(), (text) => !isId("ws", text)));
});
