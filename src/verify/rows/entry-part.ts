/**
 * The fast path for present entries: a page of entries is read as one value, since the driver's cost is per value, and
 * only the facts that are compared with the log are kept. It reports no errors: malformed rows take the plain path
 * (entry-pages.ts).
 */
import { SHA256 } from "bun";
import { Bytes, copy, enlarged, readHex } from "../../log/bytes.ts";
import { SALT_BYTES } from "../../log/hash.ts";
import { isJson } from "../../log/json-scan.ts";
import type { Reader } from "../../store/transaction.ts";

/** Present entries of the file with ids after `after` up to `upTo`. */
export interface EntryRange {
  after: number;
  upTo: number;
  /** A JSON array of the ids to which the range is limited. */
  ids?: string;
}

/** All present entries. */
export const ALL_ENTRIES: EntryRange = { after: Number.MIN_SAFE_INTEGER, upTo: Number.MAX_SAFE_INTEGER };

/** The count of numbers that are kept for each entry. */
export const ENTRY_NUMBERS = 6;

/** Well-formed present entries that are live since they were written. */
export interface PackedEntries {
  count: number;
  /** For each: its agent, the positions and times of its last and its first write, and its expiry time, or 0. */
  numbers: Float64Array<ArrayBuffer>;
  /** For each, the end of its text in `bytes`: the key, and the digest of the stored content. */
  ends: Uint32Array<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The rows of a page. */
export const ROWS_AT_ONCE = 96;
/** The most bytes of a value and its metadata, which bounds a page. Larger entries take the plain path. */
const MAX_BYTES = 64 * 1024;

/** A way to read rows in an order, after a position. */
export interface Walk {
  /** SQL: the tables to which `entries` is joined. */
  join?: string;
  /** SQL: the hint for the index of `entries`. */
  hint: string;
  on?: string;
  condition: string;
  order: string;
}

/** SQL: the tables of a walk. */
export const tablesOf = ({ join = "", hint, on = "" }: Walk): string => `${join} entries e ${hint} ${on}`;

// By id, which is the order of the table in the file, so that each page of the file is read once, regardless of the
// order of the agents' writes.
const PRESENT: Walk = {
  hint: "NOT INDEXED",
  condition: "e.live_to IS NULL AND e.id > ? AND e.id <= ?",
  order: "ORDER BY e.id",
};
const PRESENT_OF_IDS: Walk = {
  ...PRESENT,
  join: "(SELECT value AS wanted FROM json_each(?)) i CROSS JOIN",
  on: "ON e.id = i.wanted",
};

/** Returns the walk over the present entries of a range, which the fast path and the plain path share. */
export const presentWalk = ({ ids }: EntryRange): Walk => (ids === undefined ? PRESENT : PRESENT_OF_IDS);

/** Returns the parameters of that walk after an id of the range. */
export const boundOf = ({ ids, upTo }: EntryRange, after: number): (string | number)[] =>
  ids === undefined ? [after, upTo] : [ids, after, upTo];

const NUMBERS = ["agent", "written_seq", "created_seq", "live_from", "created_at", "updated_at", "id"];
const LENGTHS = ["octet_length(key)", "octet_length(metadata)", "octet_length(value)"];
const HEAD = [...NUMBERS, "coalesce(expires_at, 0)", ...LENGTHS].map((column) => `${column}, ' '`).join(", ");
/** The salt, in hex, and the hashed text, built from the stored columns, so that every byte counts. */
const [KEY_LEAD, METADATA_LEAD, VALUE_LEAD, END] = ['{"key":"', '","metadata":', ',"value":', "}"];
const HASHED = `salt, '${KEY_LEAD}', key, '${METADATA_LEAD}', metadata, '${VALUE_LEAD}', value, '${END}'`;
const SALT_CHARS = 2 * SALT_BYTES;
const AROUND = KEY_LEAD.length + METADATA_LEAD.length + VALUE_LEAD.length + END.length;
// Every text sorts before every blob, and every number before every text.
const TYPED = [
  ...["key", "metadata", "salt", "value"].map((column) => `${column} < x'' AND ${column} >= ''`),
  ...NUMBERS.map((column) => `typeof(${column}) = 'integer'`),
  `octet_length(salt) = ${SALT_CHARS}`,
  "(expires_at IS NULL OR (typeof(expires_at) = 'integer' AND expires_at > 0))",
].join(" AND ");
const GOOD = `${TYPED} AND octet_length(value) + octet_length(metadata) <= ${MAX_BYTES}`;
const pageOf = (walk: Walk): string =>
  `SELECT count(*), count(piece), CAST(group_concat(piece, '') AS BLOB)
  FROM (SELECT CASE WHEN ${GOOD} THEN concat(${HEAD}, ${HASHED}) END AS piece
  FROM ${tablesOf(walk)} WHERE ${walk.condition} ${walk.order} LIMIT ?)`;

type PageRow = [count: number, good: number, bytes: Buffer | null];

/** Reads at most `limit` entries of a range; `last` is the id of the last one. Returns null to take the plain path. */
export async function readEntryPart(reader: Reader, range: EntryRange, limit = Number.MAX_SAFE_INTEGER) {
  const packer = new EntryPacker(range.after);
  const walk = presentWalk(range);
  const page = pageOf(walk);
  while (packer.count < limit) {
    const rows = Math.min(ROWS_AT_ONCE, limit - packer.count);
    const bound = [...boundOf(range, packer.last), rows];
    const [count, good, bytes] = (await reader.get<PageRow>(page, bound)) as PageRow;
    if (count === 0) break;
    if (good !== count || bytes === null || !packer.add(new Bytes(bytes), count)) return null;
    if (count < rows) break;
  }
  return { entries: packer.packed(), last: packer.last };
}

const ZERO = 0x30;
const SPACE = 0x20;
/** Integers with up to this many digits are exact. */
const MAX_DIGITS = 15;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HASH_BYTES = SHA256.byteLength;
const FIRST_ENTRIES = 64;
const FIRST_BYTES = 64 * FIRST_ENTRIES;

class EntryPacker {
  count = 0;
  /** The id of the last packed entry. */
  last: number;
  #numbers = new Float64Array(ENTRY_NUMBERS * FIRST_ENTRIES);
  #ends = new Uint32Array(FIRST_ENTRIES);
  #bytes = new Uint8Array(FIRST_BYTES);
  #text = new Bytes(this.#bytes);
  #end = 0;
  readonly #head = new Float64Array(NUMBERS.length + 1 + LENGTHS.length);
  readonly #lengths = this.#head.subarray(NUMBERS.length + 1);
  readonly #salt = new Uint8Array(SALT_BYTES);
  readonly #digest = new Uint8Array(HASH_BYTES);
  /** The last metadata that were checked to be JSON, since many entries have the same. */
  #metadata = "{}";

  constructor(after: number) {
    this.last = after;
  }

  /** Packs a page of rows. Returns false when one of them is malformed. */
  add(text: Bytes, count: number): boolean {
    let at = 0;
    for (let row = 0; row < count; row++) {
      at = this.#add(text, at);
      if (at < 0) return false;
    }
    return at === text.u8.length;
  }

  packed(): PackedEntries {
    return { count: this.count, numbers: this.#numbers, ends: this.#ends, bytes: this.#bytes };
  }

  /** Packs the row that begins at `start`. Returns its end, or -1. */
  #add(text: Bytes, start: number): number {
    const saltAt = this.#readHead(text.u8, start);
    if (saltAt < 0 || !readHex(text.u8, saltAt, this.#salt, 0, SALT_BYTES)) return -1;
    const at = saltAt + SALT_CHARS;
    const [agent = 0, written = 0, created = 0, from = 0, createdAt = 0, updatedAt = 0, id = 0, expires = 0] =
      this.#head;
    const [key = 0, metadata = 0, value = 0] = this.#lengths;
    if (id <= this.last) return -1;
    const end = at + AROUND + key + metadata + value;
    const keyAt = at + KEY_LEAD.length;
    if (end > text.u8.length || from !== written || !isPlain(text.u8, keyAt, keyAt + key)) return -1;
    const metadataAt = keyAt + key + METADATA_LEAD.length;
    if (!this.#isJson(text, metadataAt, metadataAt + metadata)) return -1;
    // Before the text, so that both are hashed as one piece of memory.
    text.u8.set(this.#salt, at - SALT_BYTES);
    SHA256.hash(text.u8.subarray(at - SALT_BYTES, end), this.#digest);
    this.#reserve(key + HASH_BYTES);
    copy(this.#text, this.#end, text, keyAt, key);
    this.#bytes.set(this.#digest, this.#end + key);
    this.#end += key + HASH_BYTES;
    this.#numbers.set([agent, written, updatedAt, created, createdAt, expires], ENTRY_NUMBERS * this.count);
    this.#ends[this.count] = this.#end;
    this.count += 1;
    this.last = id;
    return end;
  }

  /** Reads the numbers at the beginning of a row. Returns their end, or -1. */
  #readHead(text: Uint8Array, start: number): number {
    let at = start;
    for (let index = 0; index < this.#head.length; index++) {
      let value = 0;
      const first = at;
      for (; text[at] !== SPACE; at++) {
        const digit = (text[at] as number) - ZERO;
        if (!(digit >= 0 && digit <= 9) || at - first === MAX_DIGITS) return -1;
        value = value * 10 + digit;
      }
      this.#head[index] = value;
      at += 1;
    }
    return at;
  }

  #isJson(text: Bytes, start: number, end: number): boolean {
    const metadata = text.text(start, end);
    if (metadata === this.#metadata) return true;
    if (!isJson(metadata)) return false;
    this.#metadata = metadata;
    return true;
  }

  #reserve(bytes: number): void {
    if (this.count === this.#ends.length) {
      this.#numbers = enlarged(this.#numbers);
      this.#ends = enlarged(this.#ends);
    }
    if (this.#end + bytes <= this.#bytes.length) return;
    this.#bytes = enlarged(this.#bytes, this.#end + bytes);
    this.#text = new Bytes(this.#bytes);
  }
}

/** Whether a key needs no escapes in canonical JSON. */
function isPlain(text: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = text[at] as number;
    if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}
