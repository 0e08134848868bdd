/** Writes the test vectors: `bun test/vectors/make.ts`. Their content is determined by this file. */
import { createPrivateKey } from "node:crypto";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { parseEvent } from "../../src/log/event.ts";
import { saltedDigest, sha256Hex, valueDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { CompactRange } from "../../src/log/merkle.ts";
import { recallOf } from "../../src/log/recall.ts";
import { makeReceipt } from "../../src/log/receipt.ts";
import { exportOf, type Wanted, written } from "../log/exported.ts";
import { type SampleEvent, type SampleLog, sampleLog } from "../log/sample.ts";
import { keyOf, SealedLog, type SealingKey } from "../log/sealed.ts";
import { auditPath, consistency } from "../log/tree.ts";
import { boundVectors } from "./bound.ts";
import { leafVectors, proofVectors } from "./proofs.ts";

const JSON_TEXTS = [
  "null",
  '{"b":1,"a":[true,false,null],"":{}}',
  "[0,-0,1.0,100,1e3,1e21,1E+20,123456789012345680000,4.50,2e-3,1e-6,1e-7,0.00001,5e-324,1.7976931348623157e308]",
  "[333333333.33333329,1E30,9007199254740991,-9007199254740991,0.1,-1.5,1.4745336850568532e-7]",
  "[9007199254740992,9007199254740993,-9007199254740995,1000000000000000000000,9223372036854775807]",
  '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/\\u007f\\u0080\\u2028"',
  '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
];

/** Every file and its text. */
export async function vectors(): Promise<Record<string, string>> {
  const log = sampleLog(16, ["alpha", "beta"]);
  return {
    "jcs.json": pretty(JSON_TEXTS.map((json) => ({ json, canonical: canonicalJson(JSON.parse(json)) }))),
    "events.json": pretty({
      events: log.events.map(({ canonical, details, salt, hash }) => ({
        salt,
        details,
        details_commitment: parseEvent(canonical).details_commitment,
        canonical,
        hash,
      })),
      refused: refusedTexts(log.events[1]?.canonical as string),
    }),
    "digests.json": pretty(digests()),
    "kept.json": pretty(kept()),
    "recall.json": pretty(recalls()),
    "state-leaves.json": pretty(leafVectors()),
    "export.json": await exported("json", log),
    "export.ndjson": await exported("ndjson", log),
    ...(await sealedVectors()),
    "agent.ndjson": await exported("ndjson", log, { agent: "beta", start: "2026-01-01T00:00:03.000Z" }),
    ...(await boundVectors(vectorKey())),
    ...(await proofVectors(vectorKey())),
  };
}

/** The private key is the 32 bytes 00 01 02 …: a key for vectors, and for nothing else. */
export function vectorKey(): SealingKey {
  const seed = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  return keyOf(createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
}

async function sealedVectors(): Promise<Record<string, string>> {
  const log = new SealedLog(vectorKey()).grow(21);
  const leaves = log.events.map(({ hash }) => Buffer.from(hash, "hex"));
  const seal = log.seal();
  const hex = (hashes: readonly Uint8Array[]): string[] => hashes.map((hash) => Buffer.from(hash).toString("hex"));
  const window = { start: "2026-01-01T00:00:05.000Z", end: "2026-01-01T00:00:18.000Z" };
  return {
    "tree.json": pretty({
      leaves: hex(leaves),
      roots: Array.from({ length: 22 }, (_, size) => hex([rangeOf(leaves, 0, size).root()])[0]),
      inclusion: [0, 7, 16, 20].map((index) => ({ index, size: 21, path: hex(auditPath(index, leaves)) })),
      consistency: [1, 8, 13, 20].map((from) => ({ from, to: 21, path: hex(consistency(from, leaves)) })),
    }),
    "seal.txt": seal,
    "seals.txt": [log.seal(3), log.seal(16), seal].map((note) => `${note}\n`).join(""),
    "seal.vkey": `${log.publicKey}\n`,
    "receipt.txt": makeReceipt(log.events[9] as SampleEvent, auditPath(9, leaves), seal, {
      vocabulary: log.vocabulary,
    }),
    "sealed.ndjson": await exported("ndjson", log),
    "sealed-window.json": await exported("json", log, window),
    "sealed-agent.json": await exported("json", log, { agent: "beta" }),
  };
}

/** What the events of reads state that returned versions at these positions: the first, and then one every `step`. */
function recalls() {
  const positions = [
    { first: 7, step: 1, count: 1 },
    { first: 0, step: 3, count: 12 },
    { first: 1, step: 1, count: 1_001 },
    { first: 2 ** 32, step: 2 ** 20, count: 1_500 },
  ];
  return positions.map((of) => ({
    ...of,
    details: recallOf(Array.from({ length: of.count }, (_, at) => of.first + at * of.step)),
  }));
}

function rangeOf(leaves: readonly Uint8Array[], start: number, end: number): CompactRange {
  const range = new CompactRange(start);
  for (const leaf of leaves.slice(start, end)) range.append(leaf);
  return range;
}

function refusedTexts(text: string): string[] {
  const event = parseEvent(text);
  return [
    "",
    "null",
    ` ${text}`,
    `${text}\n`,
    text.replace('"seq":1', '"seq":1.0'),
    text.replace('"seq":1', '"seq":"1"'),
    text.replace('"seq":1,', '"seq":1,"seq":1,'),
    text.replace("alpha", "\\u0061lpha"),
    text.replace('"alpha"', '"al pha"'),
    text.replace('"alpha"', "7"),
    text.replace('"agent_seq":1', '"agent_seq":true'),
    text.replace('"blocked_by":null,', ""),
    text.replace("}", ',"x":1}'),
    text.replace("governd.audit/1", "governd.audit/2"),
    text.replace(event.previous_hash, event.previous_hash.slice(1)),
    text.replace("aud_0", "aud_8"),
    text.replace("aud_0", "aud_1"),
  ];
}

function digests(): JsonValue {
  const entries: [string, JsonObject, string][] = [
    ["greeting", {}, "Hello"],
    ["k/é 😀", { source: "test", confidence: 0.5, nested: { b: [1, "x"], a: null } }, 'line\n"quoted" \u0000 \u007f'],
  ];
  const salt = "000102030405060708090a0b0c0d0e0f";
  const configs: JsonObject[] = [
    {},
    { policies: { block_pii: true, retention_days: 30 }, model: "m", instructions: "é" },
  ];
  return {
    entries: entries.map(([key, metadata, value]) => ({
      key,
      metadata,
      value,
      salt,
      value_digest: valueDigest(salt, key, canonicalJson(metadata), canonicalJson(value)),
    })),
    configs: configs.map((config) => ({ config, salt, config_digest: saltedDigest(salt, canonicalJson(config)) })),
  };
}

/** A pruning before event 512: the events that it kept, the stored versions, and the stored checkpoints behind them. */
function kept() {
  const events = [0, 1, 7, 200, 511];
  const versions = [
    [1, 1, 1, null],
    [200, 7, 530, null],
    [7, 7, 7, 200],
  ];
  const checkpoints = [[200, null, null, null]];
  const rows = [...versions, ...checkpoints];
  const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join("");
  return {
    events,
    rows,
    kept: {
      events: events.length,
      events_digest: sha256Hex(lines(events.map(String))),
      versions: versions.length,
      checkpoints: checkpoints.length,
      rows_digest: sha256Hex(lines(rows.map((row) => row.map((column) => column ?? "-").join(" ")))),
    },
  };
}

const exported = async (form: "json" | "ndjson", log: SampleLog, wanted: Wanted = {}): Promise<string> =>
  written(form, await exportOf(log, form, wanted));

function pretty(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(await vectors())) await Bun.write(join(import.meta.dir, name), text);
}
