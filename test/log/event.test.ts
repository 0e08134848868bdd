import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonValue } from "../../src/json.ts";
import { type AuditEventBody, canonicalEvent, EventFormatError, parseEvent } from "../../src/log/event.ts";
import { eventHash } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { auditId, sampleLog } from "./sample.ts";

const body: AuditEventBody = {
  actor: "key_01h455vb4pex5vsknk084sn02q",
  agent_id: "support-bot",
  agent_seq: 1,
  blocked_by: null,
  config_version: null,
  details_commitment: "44cc8448a1ac8e00b920418de284b380c6c2cc0841b3754185a8d30378dffb02",
  format: "governd.audit/1",
  id: "aud_0000000000000n55vb4pex5vsk",
  operation: "data.write",
  previous_hash: "0".repeat(64),
  result: "allowed",
  seq: 1,
  timestamp: "2026-01-02T03:04:05.678Z",
  workspace_id: "ws_01h455vb4pex5vsknk084sn02q",
};

describe("format governd.audit/1", () => {
  test("the worked example of the specification", () => {
    const text = canonicalEvent(body);
    expect(eventHash(text)).toBe("213030a654ff479bbb26e2eb898e3b4fa13bbe0b2778ec2dd156bd69a774be86");
    expect(eventHash(new TextEncoder().encode(text))).toBe(eventHash(text));
  });

  test("canonical text is JCS, and reading it gives the event back", () => {
    const agent = fc.option(fc.stringMatching(/^[A-Za-z0-9._:@~-]{1,128}$/));
    const count = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const version = fc.option(count.map((n) => `v${n}`));
    fc.assert(
      fc.property(agent, count, count, version, (agent_id, seq, agent_seq, config_version) => {
        const event = { ...body, agent_id, seq, agent_seq, config_version, id: auditId(seq) };
        const text = canonicalEvent(event);
        expect(text).toBe(canonicalJson(event as unknown as JsonValue));
        expect(parseEvent(text)).toEqual(event);
      }),
    );
  });

  test.each<[string, Partial<Record<keyof AuditEventBody, unknown>>]>([
    ["actor", { actor: "Root" }],
    ["agent_seq", { actor: 'cli","agent_id":"x' }],
    ["agent_id", { agent_id: "" }],
    ["agent_id", { agent_id: "a b" }],
    ["agent_id", { agent_id: "é" }],
    ["agent_id", { agent_id: "a".repeat(129) }],
    ["agent_seq", { agent_seq: 0 }],
    ["agent_seq", { agent_seq: 1.5 }],
    ["agent_seq", { agent_seq: 2 ** 53 }],
    ["blocked_by", { blocked_by: "block_pii" }],
    ["config_version", { config_version: "v0" }],
    ["config_version", { config_version: "1" }],
    ["details_commitment", { details_commitment: "AB".repeat(32) }],
    ["format", { format: "governd.audit/2" }],
    ["id", { id: "aud_8zzzzzzzzzzzzzzzzzzzzzzzzz" }],
    ["id", { id: "aud_0000000000000n55vb4pex5vsi" }],
    ["id", { id: "aud_0000000000000555vb4pex5vsk" }],
    ["id", { id: "aud_0000000000001n55vb4pex5vsk" }],
    ["id", { id: "aud_0000000000001555vb4pex5vsk" }],
    ["id", { id: "aud_4000000000000n55vb4pex5vsk" }],
    ["id", { id: "aud_0000001000000n55vb4pex5vsk" }],
    ["operation", { operation: "write" }],
    ["previous_hash", { previous_hash: "0".repeat(63) }],
    ["result", { result: "not ok" }],
    ["seq", { seq: -1 }],
    ["seq", { seq: 2 ** 53 }],
    ["timestamp", { timestamp: "2026-01-02T03:04:05Z" }],
    ["timestamp", { timestamp: "2026-02-29T03:04:05.678Z" }],
    ["timestamp", { timestamp: "2026-01-02T24:04:05.678Z" }],
    ["workspace_id", { workspace_id: "ws_" }],
  ])("%s out of form is refused both ways: %o", (member, change) => {
    const changed = { ...body, ...change } as AuditEventBody;
    expect(() => canonicalEvent(changed)).toThrow(EventFormatError);
    expect(() => canonicalEvent(changed)).toThrow(member);
    expect(() => parseEvent(canonicalJson(changed as unknown as JsonValue))).toThrow(EventFormatError);
  });

  test("leap days are days", () => {
    for (const timestamp of ["2024-02-29T00:00:00.000Z", "2000-02-29T00:00:00.000Z", "2026-12-31T23:59:59.999Z"]) {
      expect(parseEvent(canonicalEvent({ ...body, timestamp })).timestamp).toBe(timestamp);
    }
    for (const timestamp of ["1900-02-29T00:00:00.000Z", "2026-04-31T00:00:00.000Z"]) {
      expect(() => canonicalEvent({ ...body, timestamp })).toThrow(EventFormatError);
    }
  });

  test("one event has one text: white space, order, escapes, further or repeated members are refused", () => {
    const text = canonicalEvent(body);
    const variants = [
      ` ${text}`,
      `${text}\n`,
      text.replace(",", ", "),
      text.replace('"seq":1,', '"seq":1,"seq":1,'),
      text.replace('"seq":1', '"seq":01'),
      text.replace('"seq":1', '"seq":1.0'),
      text.replace('"seq":1', '"seq":"1"'),
      text.replace("support", "s\\u0075pport"),
      text.replace('"agent_id":"support-bot"', '"agent_id":true'),
      `${text.slice(0, -1)},"x":1}`,
      text.replace('"blocked_by":null,', ""),
      JSON.stringify(body, Object.keys(body).reverse()),
      "null",
      "",
    ];
    for (const variant of variants) expect(() => parseEvent(variant)).toThrow(EventFormatError);
  });

  test("no byte of a canonical text can be changed without another hash or a refusal", () => {
    for (const { canonical, hash } of sampleLog(8).events) {
      for (let at = 0; at < canonical.length; at++) {
        const flipped =
          canonical.slice(0, at) + String.fromCharCode(canonical.charCodeAt(at) ^ 1) + canonical.slice(at + 1);
        expect(eventHash(flipped)).not.toBe(hash);
      }
    }
  });

  test("errors name the member and never its content", () => {
    expect(() => parseEvent(canonicalEvent(body).replace("support-bot", "secret text"))).toThrow(
      new EventFormatError("agent_id has the wrong type or form"),
    );
  });
});
