import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeCursor, encodeCursor, listFilters, MAX_CURSOR_LENGTH } from "../../src/core/lists.ts";

const filters = listFilters("data.list", { agentId: "a", prefix: "p/", includeValues: false });

test("a cursor gives its position back", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeInteger()), (position) => {
      if (Object.is(position, -0)) return;
      const cursor = encodeCursor(filters, position);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(decodeCursor(filters, cursor)).toBe(position);
    }),
  );
});

test("the longest key fits into a cursor", () => {
  const key = "\u{10ffff}".repeat(512);
  const cursor = encodeCursor(filters, key);
  expect(cursor.length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
  expect(decodeCursor(filters, cursor)).toBe(key);
});

test("a cursor is refused with other filters", () => {
  const cursor = encodeCursor(filters, "k");
  for (const input of [
    { agentId: "b", prefix: "p/", includeValues: false },
    { agentId: "a", prefix: "p", includeValues: false },
  ]) {
    expect(decodeCursor(listFilters("data.list", input), cursor)).toBeNull();
  }
  expect(decodeCursor(listFilters("checkpoint.list", { agentId: "a" }), cursor)).toBeNull();
});

test("filters do not depend on the page, on included values or on the order of members", () => {
  const page = { limit: 1, offset: 2 };
  const one = listFilters("data.list", { agentId: "a", prefix: "p/", includeValues: true, page } as never);
  const two = listFilters("data.list", { prefix: "p/", includeValues: false, agentId: "a" });
  expect(decodeCursor(two, encodeCursor(one, 3))).toBe(3);
});

test("whatever else is no cursor", () => {
  const cursor = encodeCursor(filters, 12);
  for (const bad of [
    "",
    "a",
    "AAAA",
    "é",
    `${cursor}=`,
    `${cursor}A`,
    ` ${cursor}`,
    cursor.slice(0, -1),
    "A".repeat(9000),
  ]) {
    expect(decodeCursor(filters, bad)).toBeNull();
  }
  fc.assert(fc.property(fc.string(), (text) => decodeCursor(filters, text) === null));
});
