/** An export says the same whether its lines are as the writer of this format writes them or in another form. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ExportVerifier } from "../../src/verify/events/export-read.ts";
import { effort } from "../effort.ts";
import { exportOf, unsealed, written } from "../log/exported.ts";
import { typeId } from "../log/sample.ts";
import { SealedLog } from "../log/sealed.ts";

const RUNS = effort({ usual: 20, long: 500 });
const log = longLog();

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
    ...{ rights: "kept", later: null },
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

describe("events of an export, in the form of its own writer and in another", () => {
  function verify(bytes: Uint8Array, piece: number) {
    const made = new ExportVerifier();
    for (let at = 0; at < bytes.length; at += piece) made.push(bytes.slice(at, at + piece));
    return made.finish();
  }

  /** White space that JSON ignores: no line is in the form of the writer. */
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
      { numRuns: RUNS },
    );
    expect(verify(whole, 4_096)).toMatchObject({ valid: true, eventsChecked: 600, undetermined: null });
  });
});
