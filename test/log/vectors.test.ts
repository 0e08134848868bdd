import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventFormatError, parseEvent } from "../../src/log/event.ts";
import { ExportVerifier } from "../../src/log/export-read.ts";
import { detailsCommitment, eventHash } from "../../src/log/hash.ts";
import { vectors } from "../vectors/make.ts";

const directory = join(import.meta.dir, "../vectors");
const tools = join(import.meta.dir, "../../tools");
const read = (name: string): string => readFileSync(join(directory, name), "utf8");

describe("the published test vectors", () => {
  test("are what this implementation makes", () => {
    for (const [name, text] of Object.entries(vectors())) expect(read(name)).toBe(text);
  });

  test("events, commitments, hashes, and what is refused", () => {
    const { events, refused } = JSON.parse(read("events.json"));
    for (const { salt, details, details_commitment, canonical, hash } of events) {
      expect(parseEvent(canonical).details_commitment).toBe(details_commitment);
      expect(detailsCommitment(Buffer.from(salt, "hex"), JSON.parse(details))).toBe(details_commitment);
      expect(eventHash(canonical)).toBe(hash);
    }
    for (const text of refused) expect(() => parseEvent(text)).toThrow(EventFormatError);
  });
});

describe.skipIf(Bun.which("python3") === null)("the second implementation (Python)", () => {
  let scratch = "";
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), "governd-vectors-"));
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  function python(...args: string[]): { code: number; out: string } {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["python3", "-B", ...args]);
    return { code: exitCode, out: `${stdout}${stderr}` };
  }

  async function bothSay(name: string, text: string): Promise<[number, number]> {
    const path = join(scratch, name);
    await Bun.write(path, text);
    const verifier = new ExportVerifier();
    verifier.push(new TextEncoder().encode(text));
    const report = verifier.finish();
    const ours = !report.valid ? 1 : report.undetermined === null ? 0 : 2;
    return [ours, python(join(tools, "verify.py"), path).code];
  }

  test("agrees with every vector", () => {
    expect(python(join(tools, "check_vectors.py"), directory)).toMatchObject({ code: 0 });
  });

  test.each(["export.json", "export.ndjson", "agent.ndjson"])(
    "judges %s and its forgeries as we do",
    async (name) => {
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
    },
  );
});
