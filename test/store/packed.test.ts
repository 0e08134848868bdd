/** Packed rows: what was stored comes back, whatever its type, its bytes and the order in which it is asked for. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type ColumnType, PackedRows, packed, pageOf, typesOf } from "../../src/store/packed.ts";

const COLUMNS = ["a", "b", "c", "d"];

/** A value, or the bytes of a text that is not UTF-8. */
type Stored = string | number | null | Uint8Array | { damaged: Uint8Array };

const stored = fc.oneof<[fc.Arbitrary<Stored>, ...fc.Arbitrary<Stored>[]]>(
  fc.string({ unit: "binary" }).filter((text) => !text.includes("\0")),
  fc.string({ unit: "binary-ascii", size: "large" }).filter((text) => !text.includes("\0")),
  fc.maxSafeInteger(),
  fc.constant(null),
  fc.uint8Array(),
  fc.uint8Array().map((bytes) => ({ damaged: Uint8Array.of(...bytes.filter((byte) => byte !== 0), 0xff) })),
);
const isDamaged = (value: Stored): value is { damaged: Uint8Array } =>
  typeof value === "object" && value !== null && "damaged" in value;
const bytesOf = (value: Stored): Buffer => {
  if (value === null) return Buffer.alloc(0);
  if (typeof value === "object") return Buffer.from(isDamaged(value) ? value.damaged : value);
  return Buffer.from(String(value));
};
const typeOf = (value: Stored): ColumnType => {
  if (typeof value === "number") return "integer";
  if (typeof value === "string" || isDamaged(value as Stored)) return "text";
  return value === null ? "text?" : "blob";
};

function pageWith(rows: readonly (readonly Stored[])[]): Buffer {
  using file = new Database(":memory:");
  file.run(`CREATE TABLE kept (${COLUMNS.join(", ")})`);
  for (const row of rows) {
    const places = row.map((value) => (isDamaged(value) ? "CAST(? AS TEXT)" : "?"));
    file.run(
      `INSERT INTO kept VALUES (${places.join(", ")})`,
      row.map((value) => (isDamaged(value) ? value.damaged : value)),
    );
  }
  const [page] = file.query(pageOf(packed(COLUMNS), "FROM kept ORDER BY rowid")).values()[0] as [Uint8Array];
  return Buffer.from(page);
}

test("every value comes back, and its hex in any order", () => {
  const row = fc.tuple(stored, stored, stored, stored);
  const order = fc.shuffledSubarray([0, 1, 2, 3, 0, 1, 2, 3]);
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), order, (rows, indexes) => {
      const reader = new PackedRows(pageWith(rows), COLUMNS.length);
      for (const values of rows) {
        expect(reader.next()).toBe(true);
        expect(reader.areOf(typesOf(values.map(typeOf)))).toBe(true);
        for (const index of indexes) {
          const value = values[index] as Stored;
          expect(reader.hex(index)).toBe(bytesOf(value).toString("hex"));
          expect(reader.bytesOf(index)).toEqual(bytesOf(value));
          expect(reader.isNull(index)).toBe(value === null);
          expect(reader.text(index)).toBe(typeof value === "string" ? value : null);
          expect(reader.integer(index)).toBe(typeof value === "number" ? value : null);
        }
      }
      expect(reader.next()).toBe(false);
    }),
  );
});
