/** Single bits of a file that are flipped: anywhere in it, or where SQLite keeps the order of its pages. */
import type { Seeded } from "../seeded.ts";

/** A place in a file, and one of the eight bits there. */
type Place = [at: number, bit: number];

const PAGE_BYTES = 4096;
/** The header of the file and of its first page. */
const FIRST_PAGE_HEADER_BYTES = 112;
/** The header of a page, and where the first of its rows are; or entries of the map of pages. */
const PAGE_HEADER_BYTES = 20;

/** Returns any bit. */
export const anywhere = (seeded: Seeded, bytes: Buffer): Place => [seeded.below(bytes.length), seeded.below(8)];

/**
 * Returns a bit of the structure of a database: the header of the file or of a page, or the map of pages
 * (https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages). A few random bits seldom hit it, and versions
 * of SQLite treat its damage differently.
 */
export function inStructure(seeded: Seeded, bytes: Buffer): Place {
  const page = seeded.below(Math.floor(bytes.length / PAGE_BYTES));
  const within = seeded.below(page === 0 ? FIRST_PAGE_HEADER_BYTES : PAGE_HEADER_BYTES);
  return [page * PAGE_BYTES + within, seeded.below(8)];
}

/** Returns a bit of the pages that hold the text of the schema. */
export function inSchema(seeded: Seeded, bytes: Buffer): Place {
  const pages = Array.from({ length: Math.ceil(bytes.length / PAGE_BYTES) }, (_, page) => page * PAGE_BYTES);
  const ofSchema = pages.filter((at) =>
    /CREATE (TABLE|UNIQUE|INDEX)/.test(bytes.toString("latin1", at, at + PAGE_BYTES)),
  );
  return [(ofSchema[seeded.below(ofSchema.length)] as number) + seeded.below(PAGE_BYTES), seeded.below(8)];
}

/** Returns a bit of an event's number in a text: a verifier must not judge what follows by a wrong number. */
export function inNumber(seeded: Seeded, bytes: Buffer): Place {
  const numbers = [...bytes.toString("latin1").matchAll(/(?<="(?:agent_)?seq":)\d+/g)];
  const { 0: digits, index } = numbers[seeded.below(numbers.length)] as RegExpExecArray;
  return [index + seeded.below(digits.length), seeded.below(8)];
}

/** Returns a copy with the bit flipped. */
export function withFlipped(bytes: Buffer, [at, bit]: Place): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] as number) ^ (1 << bit);
  return flipped;
}
