/** The quick way through the verifier and the thorough one say the same of every log. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { eventHash } from "../../src/log/hash.ts";
import { parseSeal, type Seal } from "../../src/log/seal.ts";
import type { VerificationReport } from "../../src/verify/events/contract.ts";
import { ExportVerifier } from "../../src/verify/events/export-read.ts";
import { storedPage } from "../../src/verify/events/fast/stored-event.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import { effort } from "../effort.ts";
import { exportOf, unsealed, written } from "../log/exported.ts";
import { type SampleEvent, typeId } from "../log/sample.ts";
import { SealedLog } from "../log/sealed.ts";

const RUNS = effort({ usual: 80, long: 2_000 });
/** The position of the event that begins the second epoch. */
const RESTORED_AT = 506;
const log = longLog();
const seals = [0, 3, 256, 257, 300, 512, log.events.length].map((size) =>
  parseSeal(log.seal(size, log.key, size > RESTORED_AT ? `${log.origin}/2` : log.origin)),
);
const keys = { trusted: [], offered: [log.key.publicKey] };

function longLog(): SealedLog {
  const made = new SealedLog().grow(500, ["alpha", "beta", "gamma"]);
  made.append({ agent: "alpha", operation: "data.read", details: { key: "ä€😀" } });
  const refused = { details: { findings: [], excepted: { email: 1 } }, blockedBy: "policy:block_pii" };
  made.append({ agent: "alpha", operation: "data.write", result: "blocked", ...refused });
  const rotated = { origin: made.origin, signing_key: log2Key() };
  made.append({ agent: null, operation: "seal.rotate_key", actor: "cli", details: rotated });
  for (let i = 0; i < 3; i++) made.write("beta", "k", `before a restore ${i}`);
  const [seq, hash] = [made.events.length - 1, made.events.at(-1)?.hash as string];
  const epoch = {
    ...{ origin: `${made.origin}/2`, previous_origin: made.origin, signing_key: log2Key() },
    ...{ last_seal: null, lost_seals: [], lost_through: null },
    ...{ backup_created_at: "2026-01-01T00:00:00.000Z", backup_digest: "ef".repeat(32) },
    ...{ links_revoked_at: "2026-01-01T00:00:00.000Z", rows_left_out: [] },
  };
  const restored = { head_seq: seq, head_hash: hash, ...epoch };
  made.append({ agent: null, operation: "log.restore", actor: "cli", details: restored });
  const metadata = { b: [1, { c: null, d: [] }], nested: {}, a: 0.5, 'with "quotes"': true };
  const checkpoint = { checkpoint_id: typeId("cp", 1), as_of_seq: made.events.length, entry_count: 0, label: null };
  made.append({ agent: "delta", operation: "checkpoint.create", details: { ...checkpoint, metadata } });
  made.append({ agent: "delta", operation: "data.list", details: { prefix: 'ä"', count: 0 } });
  return made.grow(600, ["alpha", "delta", "beta"]);
}

function log2Key(): string {
  return "cd".repeat(32);
}

type Row = SampleEvent | (Omit<SampleEvent, "details" | "salt"> & { details: null; salt: null });

function verifier(expected: readonly Seal[]): LogVerifier {
  const made = new LogVerifier({ scope: "workspace", start: "beginning", seals: keys });
  made.expectSeals(expected);
  return made;
}

function thorough(rows: readonly Row[]): VerificationReport {
  const made = verifier(seals);
  made.add(rows);
  return made.finish();
}

/** In pages of some rows, as a file is read; rows that a page cannot say go the thorough way, as there. */
function quick(rows: readonly Row[], pageSize: number): { report: VerificationReport; taken: number } {
  const made = verifier(seals);
  let taken = 0;
  for (let from = 0; from < rows.length; from += pageSize) {
    const part = rows.slice(from, from + pageSize);
    const text = part.map(
      ({ canonical, hash, salt, details }) => `\0${canonical}\x01${hash}\x01${salt ?? ""}\x01${details ?? ""}`,
    );
    const first = part[0]?.seq as number;
    const inARow = part.every(({ seq }, index) => seq === first + index);
    const page = inARow ? storedPage(Buffer.from(text.join("")), first, part.length) : null;
    if (page === null) {
      made.add(part);
      continue;
    }
    for (let at = 0; at < part.length; at++) {
      const next = made.addStored(page, at);
      taken += next - at;
      at = next;
      if (at < part.length) made.add([part[at] as Row]);
    }
  }
  return { report: made.finish(), taken };
}

const edit = fc.oneof(
  fc.record({
    kind: fc.constant("flip" as const),
    member: member(),
    at: fc.nat(),
    by: fc.integer({ min: 1, max: 127 }),
  }),
  fc.record({ kind: fc.constant("erase" as const) }),
  fc.record({ kind: fc.constant("rehash" as const), actor: fc.constantFrom("system", "cli") }),
  fc.record({ kind: fc.constant("drop" as const) }),
  fc.record({ kind: fc.constant("twice" as const) }),
  fc.record({ kind: fc.constant("swap" as const) }),
  fc.record({ kind: fc.constant("renumber" as const) }),
  fc.record({ kind: fc.constant("cut" as const), member: member(), at: fc.nat() }),
);

function member() {
  return fc.constantFrom("canonical" as const, "details" as const, "salt" as const, "hash" as const);
}

type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

function apply(rows: Row[], index: number, change: Edit): void {
  const row = rows[index];
  if (row === undefined) return;
  switch (change.kind) {
    case "flip":
    case "cut": {
      const text = row[change.member] ?? "";
      if (text === "") return;
      const at = change.at % text.length;
      const code = change.kind === "flip" ? (text.charCodeAt(at) ^ change.by) & 127 : -1;
      const middle = code < 0 ? "" : String.fromCharCode(code);
      rows[index] = { ...row, [change.member]: text.slice(0, at) + middle + text.slice(at + 1) } as Row;
      return;
    }
    case "erase":
      rows[index] = { ...row, details: null, salt: null };
      return;
    case "rehash": {
      const canonical = canonicalEvent({ ...parseEvent(row.canonical), actor: change.actor });
      rows[index] = { ...row, canonical, hash: eventHash(canonical) };
      return;
    }
    case "drop":
      rows.splice(index, 1);
      return;
    case "twice":
      rows.splice(index, 0, row);
      return;
    case "swap":
      [rows[index], rows[0]] = [rows[0] as Row, row];
      return;
    case "renumber":
      rows[index] = { ...row, seq: (row.seq ?? 0) + 1 } as Row;
  }
}

const edits = fc.array(fc.tuple(fc.nat(log.events.length - 1), edit), { maxLength: 3 });

/** Bytes beyond ASCII count as Latin-1 when stored rows are read thoroughly; the edits here are in ASCII. */
function edited(changes: readonly (readonly [number, Edit])[]): Row[] {
  const rows: Row[] = [...log.events];
  // Rows that are moved or rehashed are whole, so these come first.
  const ordered = [...changes].sort(([, a], [, b]) => Number(a.kind !== "rehash") - Number(b.kind !== "rehash"));
  for (const [index, change] of ordered) apply(rows, index, change);
  return rows;
}

describe("stored events", () => {
  test("take the fast path when they are valid, with the same report", () => {
    const { report, taken } = quick(log.events, 64);
    expect(report).toEqual(thorough(log.events));
    expect(report).toMatchObject({ valid: true, eventsChecked: 600 });
    expect(taken).toBeGreaterThan(580);
  });

  test("are reported alike, whatever is done to them and however they are read", () => {
    fc.assert(
      fc.property(edits, fc.constantFrom(1, 7, 64, 256), (changes, size) => {
        const rows = edited(changes);
        expect(quick(rows, size).report).toEqual(thorough(rows));
      }),
      { numRuns: RUNS },
    );
  });
});

describe("events of an export", () => {
  function verify(bytes: Uint8Array, piece: number) {
    const made = new ExportVerifier();
    for (let at = 0; at < bytes.length; at += piece) made.push(bytes.slice(at, at + piece));
    return made.finish();
  }

  /** White space that JSON ignores keeps every line from the quick way. */
  const slowed = (form: "json" | "ndjson", bytes: Buffer): Buffer =>
    Buffer.from(
      form === "ndjson"
        ? bytes.toString("latin1").replaceAll("\n", "\r\n")
        : bytes.toString("latin1").replaceAll("\n", "\n "),
      "latin1",
    );

  test.each(["json", "ndjson"] as const)("are reported alike in %s, whatever is done to them", async (form) => {
    const whole = Buffer.from(written(form, unsealed(await exportOf(log, form))));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 127 })), { maxLength: 2 }),
        fc.constantFrom(1_000, 10_007, 1 << 20),
        (flips, piece) => {
          const bytes = Buffer.from(whole);
          for (const [at, by] of flips) {
            // Line ends are what tells the two ways apart here.
            const byte = (bytes[at] as number) ^ by;
            if (bytes[at] !== 10 && byte !== 10 && byte !== 13) bytes[at] = byte;
          }
          expect(verify(bytes, piece)).toEqual(verify(slowed(form, bytes), piece));
        },
      ),
      { numRuns: RUNS / 4 },
    );
    expect(verify(whole, 4_096)).toMatchObject({ valid: true, eventsChecked: 600, undetermined: null });
  });
});
