/** Writes the test vectors: `bun test/vectors/make.ts`. Their content is determined by this file. */
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { parseEvent } from "../../src/log/event.ts";
import type { ExportHeader } from "../../src/log/export-format.ts";
import { exportWriter } from "../../src/log/export-write.ts";
import { configDigest, valueDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { sampleLog, WORKSPACE } from "../log/sample.ts";

const JSON_TEXTS = [
  "null",
  '{"b":1,"a":[true,false,null],"":{}}',
  "[0,-0,1.0,100,1e3,1e21,1E+20,123456789012345680000,4.50,2e-3,1e-6,1e-7,0.00001,5e-324,1.7976931348623157e308]",
  "[333333333.33333329,1E30,9007199254740991,-9007199254740991,0.1,-1.5,1.4745336850568532e-7]",
  '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/\\u007f\\u0080\\u2028"',
  '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
];

/** Every file and its text. */
export function vectors(): Record<string, string> {
  const log = sampleLog(16, ["alpha", "beta"]);
  const beta = log.events.filter(({ canonical }) => parseEvent(canonical).agent_id === "beta");
  const [first, ...rest] = beta.slice(1) as [(typeof beta)[number], ...typeof beta];
  const after = { agent_seq: parseEvent(first.canonical).agent_seq, hash: first.hash };
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
    "export.json": exported("json", log.events, {}),
    "export.ndjson": exported("ndjson", log.events, {}),
    "agent.ndjson": exported("ndjson", rest, {
      agent_id: "beta",
      start_time: "2026-01-01T00:00:03.000Z",
      starts_after: after,
    }),
  };
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
  ];
}

function digests(): JsonValue {
  const entries: [string, JsonObject, string][] = [
    ["greeting", {}, "Hello"],
    [
      "k/é 😀",
      { source: "test", confidence: 0.5, nested: { b: [1, "x"], a: null } },
      'line\n"quoted" \u0000 \u007f',
    ],
  ];
  const configs: JsonObject[] = [
    {},
    { policies: { block_pii: true, retention_days: 30 }, model: "m", instructions: "é" },
  ];
  return {
    entries: entries.map(([key, metadata, value]) => ({
      key,
      metadata,
      value,
      value_digest: valueDigest(key, metadata, value),
    })),
    configs: configs.map((config) => ({ config, config_digest: configDigest(config) })),
  };
}

function exported(
  form: "json" | "ndjson",
  events: readonly StoredEvent[],
  change: Partial<ExportHeader>,
): string {
  const writer = exportWriter(form, {
    workspace_id: WORKSPACE,
    agent_id: null,
    start_time: null,
    end_time: null,
    exported_at: "2026-02-01T00:00:00.000Z",
    event_count: events.length,
    starts_after: null,
    seal: null,
    public_key: null,
    ...change,
  });
  return writer.begin() + events.map((event) => writer.event(event)).join("") + writer.end();
}

function pretty(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(vectors())) await Bun.write(join(import.meta.dir, name), text);
}
