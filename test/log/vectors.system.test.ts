import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { KEPT_ROWS_SCHEMA, keptRowsDigest } from "../../src/core/rows/log/pruning.ts";
import { EventFormatError, parseEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest } from "../../src/log/hash.ts";
import { parseVerifierKey } from "../../src/log/note.ts";
import { parseReceipt, ReceiptError, receiptProblem } from "../../src/log/receipt.ts";
import { openConnection } from "../../src/store/connection.ts";
import { ExportVerifier } from "../../src/verify/events/export-read.ts";
import { verdictOf } from "../../src/verify/problems.ts";
import { inMemory } from "../temporary.ts";
import { vectorKey, vectors } from "../vectors/make.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

const directory = join(import.meta.dir, "../vectors");
const tools = join(import.meta.dir, "../../tools");
const read = (name: string): string => readFileSync(join(directory, name), "utf8");

/** Exports that the product wrote. */
const BOUND = {
  "bound.ndjson": "complete",
  "bound-window.json": "partial",
  "bound-agent.ndjson": "complete",
  "bound-empty.json": "partial",
  "bound-erased.ndjson": "complete",
};

describe("the published test vectors", () => {
  test("are what this implementation makes", async () => {
    for (const [name, text] of Object.entries(await vectors())) expect(read(name)).toBe(text);
  });

  test("what a pruning kept", async () => {
    const { rows, kept } = JSON.parse(read("kept.json"));
    using connection = openConnection(":memory:");
    connection.exec(KEPT_ROWS_SCHEMA);
    for (const [index, row] of rows.entries()) {
      connection.run("INSERT INTO kept_rows VALUES (?, ?, ?, ?, ?)", [index + 1, ...row]);
    }
    expect(await keptRowsDigest(connection)).toEqual({ count: rows.length, digest: kept.rows_digest });
  });

  test("exports that the product wrote, and what each proves", () => {
    const { publicKey } = vectorKey();
    for (const [name, completeness] of Object.entries(BOUND)) {
      const verifier = new ExportVerifier({ publicKeys: [publicKey] });
      verifier.push(readFileSync(join(directory, name)));
      const found = verifier.finish();
      expect([name, found.problems, found.undetermined, found.completeness.is]).toEqual([name, [], null, completeness]);
    }
  });

  test("events, commitments, hashes, and what is refused", () => {
    const { events, refused } = JSON.parse(read("events.json"));
    for (const { salt, details, details_commitment, canonical, hash } of events) {
      expect(parseEvent(canonical).details_commitment).toBe(details_commitment);
      expect(saltedDigest(salt, details)).toBe(details_commitment);
      expect(eventHash(canonical)).toBe(hash);
    }
    for (const text of refused) expect(() => parseEvent(text)).toThrow(EventFormatError);
  });
});

describe.skipIf(!HAS_PYTHON)("the second implementation (Python)", () => {
  let scratch = "";
  const second = new SecondVerifier();
  beforeAll(() => {
    scratch = mkdtempSync(join(inMemory(), "governd-vectors-"));
  });
  afterAll(async () => {
    await second[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true });
  });

  function python(...args: string[]): { code: number; out: string } {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["python3", "-B", ...args]);
    return { code: exitCode, out: `${stdout}${stderr}` };
  }

  const vkey = join(directory, "seal.vkey");
  const publicKey = parseVerifierKey(read("seal.vkey").trim()).publicKey;
  const CODES = { verified: 0, tampered: 1, undetermined: 2 };

  async function bothSay(name: string, text: string, keyed = false): Promise<[number, number]> {
    const path = join(scratch, name);
    await Bun.write(path, text);
    const verifier = new ExportVerifier(keyed ? { publicKeys: [publicKey] } : {});
    verifier.push(new TextEncoder().encode(text));
    const ours = CODES[verdictOf(verifier.finish())];
    return [ours, (await second.run(...(keyed ? ["--public-key", vkey] : []), path)).code];
  }

  test("agrees with every vector", () => {
    expect(python(join(tools, "check_vectors.py"), directory)).toMatchObject({ code: 0 });
  });

  test.each(["export.json", "export.ndjson", "agent.ndjson"])("judges %s and its forgeries as we do", async (name) => {
    const text = read(name);
    expect(await bothSay(name, text)).toEqual([0, 0]);
    const lines = text.split("\n");
    const forgeries = [
      text.replace('"result":"allowed"', '"result":"ok"'),
      text.replace('"details_salt":"00', '"details_salt":"01'),
      text.replace(/"key":"key/, '"key":"kex'),
      text.replace(/"agent_seq":3/, '"agent_seq":4'),
      text.replace(/"hash":"[0-9a-f]{8}/, '"hash":"00000000'),
      text.replace(/"event_count":/, '"event_count":1'),
      lines.toSpliced(3, 1).join("\n"),
      lines
        .with(3, lines[4] as string)
        .with(4, lines[3] as string)
        .join("\n"),
    ];
    for (const [index, forged] of forgeries.entries()) {
      expect(forged).not.toBe(text);
      expect([index, ...(await bothSay(name, forged))]).toEqual([index, 1, 1]);
    }
    expect(await bothSay(name, text.slice(0, -30))).toEqual([2, 2]);
  });

  test.each(["sealed.ndjson", "sealed-window.json", "sealed-agent.json"])(
    "judges the sealed %s and its forgeries as we do",
    async (name) => {
      const text = read(name);
      expect(await bothSay(name, text, true)).toEqual([0, 0]);
      const lines = text.split("\n");
      const count = Number(/"event_count":([0-9]+)/.exec(text)?.[1]);
      const fewer = text.replaceAll(`"event_count":${count}`, `"event_count":${count - 1}`).split("\n");
      const lastEvent = lines.findLastIndex((line) => line.includes('"seq":'));
      const cut = fewer.toSpliced(lastEvent, 1);
      if (name.endsWith("json") && !name.endsWith("ndjson"))
        cut[lastEvent - 1] = cut[lastEvent - 1]?.replace(/,$/, "") as string;
      const forgeries = [
        cut
          .join("\n")
          .replace(/"head":"[0-9a-f]+"/, `"head":"${/"hash":"([0-9a-f]{64})"/.exec(cut[lastEvent - 1] ?? "")?.[1]}"`),
        text.replace(/(\\n\\n— \S+ hhPM)./, "$1A"),
        text.replace(/(\\n22\\n)./, "$1A"),
        text.replace("\\n22\\n", "\\n23\\n"),
      ];
      for (const [index, forged] of forgeries.entries()) {
        expect(forged).not.toBe(text);
        expect([index, ...(await bothSay(name, forged, true))]).toEqual([index, 1, 1]);
      }
    },
  );

  test("judges receipts as we do", async () => {
    const text = read("receipt.txt");
    const say = async (receipt: string): Promise<boolean[]> => {
      const path = join(scratch, "receipt.txt");
      await Bun.write(path, receipt);
      let ours = false;
      try {
        ours = receiptProblem(parseReceipt(receipt), publicKey) === null;
      } catch (error) {
        expect(error).toBeInstanceOf(ReceiptError);
      }
      return [ours, (await second.run("--public-key", vkey, path)).code === 0];
    };
    expect(await say(text)).toEqual([true, true]);
    for (const bad of [
      text.replace("index 9", "index 8"),
      text.replace(/(?<=\nindex 9\n)./, (first) => (first === "A" ? "B" : "A")),
      text.replace("\n21\n", "\n20\n"),
      text.slice(0, -2),
    ]) {
      expect(bad).not.toBe(text);
      expect(await say(bad)).toEqual([false, false]);
    }
  });
});
