/** Receipts that are made from exports alone. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../src/failure.ts";
import { rangeProof } from "../../src/log/proof.ts";
import { makeReceipt } from "../../src/log/receipt.ts";
import { receiptFromExport, type WantedEvent } from "../../src/verify/exported-receipt.ts";
import { SealedLog } from "../log/sealed.ts";
import { auditPath } from "../log/tree.ts";
import { exported } from "../vectors/make.ts";

const vector = (name: string) => readFileSync(join(import.meta.dir, "../vectors", name), "utf8");

/** Makes a receipt from a text that arrives in small pieces. */
async function make(text: string, wanted: WantedEvent, exact = false): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
  }
  return receiptFromExport(pieces, wanted, exact);
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

async function around(log: SealedLog, start: number, end: number) {
  const { before, after } = await rangeProof(start, end, log.events.length, log.tiles());
  const hex = (hashes: readonly Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString("hex"));
  return { before: hex(before), after: hex(after) };
}

describe("a receipt from an export", () => {
  test("is the one that the log would give", async () => {
    const given = vector("receipt.txt");
    for (const name of ["sealed.ndjson", "sealed-window.json"]) {
      expect([name, await make(vector(name), { seq: 9 })]).toEqual([name, given]);
      expect(await make(vector(name), { id: "aud_0000000000000000000000000a" })).toBe(given);
    }
  });

  test("is right for every event of every window, with whole and with incomplete trees", async () => {
    for (const size of [1, 2, 7, 8, 13]) {
      const log = new SealedLog().grow(size);
      const leaves = log.events.map(({ hash }) => Buffer.from(hash, "hex"));
      for (let start = 0; start < size; start++) {
        for (let end = start + 1; end <= size; end++) {
          const text = exported("ndjson", log.events.slice(start, end), {
            seal: log.seal(),
            public_key: log.publicKey,
            proof: await around(log, start, end),
          });
          for (let seq = start; seq < end; seq++) {
            const expected = makeReceipt(log.events[seq] as never, auditPath(seq, leaves), log.seal(), { exact: true });
            expect(await make(text, { seq }, true)).toBe(expected);
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
      ["not_found", whole, { id: "aud_00000000000000000000000099" }],
      ["it has no seal", vector("export.ndjson")],
      ["the export of one agent", vector("sealed-agent.json"), { seq: 1 }],
      ["the proof does not lead from the event", whole.replace('"hash":"a2945bf8', '"hash":"a2945bf9')],
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
