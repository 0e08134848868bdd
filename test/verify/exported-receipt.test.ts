/** Receipts that are made from exports alone. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../src/failure.ts";
import { makeReceipt } from "../../src/log/receipt.ts";
import { receiptFromExport, type WantedEvent } from "../../src/verify/exported-receipt.ts";
import { exportOf, written } from "../log/exported.ts";
import { auditId, type SampleEvent } from "../log/sample.ts";
import { SealedLog } from "../log/sealed.ts";
import { auditPath } from "../log/tree.ts";

const vector = (name: string) => readFileSync(join(import.meta.dir, "../vectors", name), "utf8");

/** Makes a receipt from a text that arrives in small pieces. */
async function make(text: string, wanted: WantedEvent, exact = false): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
  }
  return receiptFromExport(pieces, wanted, exact);
}

/** Returns the receipt that the log itself gives. */
function receiptOf(log: SealedLog, seq: number, exact = false): string {
  const leaves = log.events.map(({ hash }) => Buffer.from(hash, "hex"));
  return makeReceipt(log.events[seq] as SampleEvent, auditPath(seq, leaves), log.seal(), {
    exact,
    vocabulary: log.vocabulary,
  });
}

async function failure(text: string, wanted: WantedEvent = { seq: 9 }): Promise<string> {
  try {
    await make(text, wanted);
  } catch (error) {
    if (error instanceof Failure) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error("a receipt was made");
}

describe("a receipt from an export", () => {
  test("is the one that the log would give", async () => {
    const log = new SealedLog().grow(21);
    for (const wanted of [{}, { start: "2026-01-01T00:00:05.000Z", end: "2026-01-01T00:00:18.000Z" }]) {
      const exported = await exportOf(log, "ndjson", wanted);
      const [text, given] = [written("ndjson", exported), receiptOf(exported.log, 9)];
      expect(await make(text, { seq: 9 })).toBe(given);
      expect(await make(text, { id: auditId(9) })).toBe(given);
    }
  });

  test("is right for every event of every window, with whole and with incomplete trees", async () => {
    const time = (seq: number) => new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
    for (const size of [1, 2, 7, 8, 13]) {
      const log = new SealedLog().grow(size);
      for (let start = 0; start < size; start++) {
        for (let end = start + 1; end <= size; end++) {
          const exported = await exportOf(log, "ndjson", { start: time(start), end: time(end) });
          const text = written("ndjson", exported);
          for (let seq = start; seq < end; seq++) {
            expect(await make(text, { seq }, true)).toBe(receiptOf(exported.log, seq, true));
          }
        }
      }
    }
  });

  test("is refused when the export cannot prove the event", async () => {
    const whole = vector("sealed.ndjson");
    const lines = whole.split("\n");
    const cases: [string, string, WantedEvent?][] = [
      ["not_found", whole, { seq: 21 }],
      ["not_found", whole, { id: auditId(99) }],
      ["it has no seal", vector("export.ndjson")],
      ["the export of one agent", vector("sealed-agent.json"), { seq: 1 }],
      [
        "the proof does not lead from the event",
        lines
          .with(
            1,
            (lines[1] as string).replace(/(?<="hash":"[0-9a-f]{7})./, (digit) => (digit === "0" ? "1" : "0")),
          )
          .join("\n"),
      ],
      [
        "the proof does not lead from the event",
        lines.with(10, (lines[10] as string).replace("allowed", "ok")).join("\n"),
      ],
      ["its proof does not fit its events", lines.toSpliced(4, 1).join("\n")],
      ["its proof does not fit", whole.replace('"proof":{"before":[]', `"proof":{"before":["${"0".repeat(64)}"]`)],
      ["incomplete", lines.slice(0, -2).join("\n")],
      ["something follows", `${whole}x`],
      ["not a json or ndjson export", "id,seq\n"],
      ["the seal is not signed by this key", whole.replace('"seal":"governd', '"seal":"other')],
    ];
    for (const [reason, text, wanted] of cases) expect(await failure(text, wanted)).toContain(reason);
  });
});
