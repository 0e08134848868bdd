import { describe, expect, test } from "bun:test";
import { canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { eventHash } from "../../src/log/hash.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { parseSeal, ROTATE_SEAL_KEY } from "../../src/log/seal.ts";
import type { VerificationReport } from "../../src/verify/events/contract.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import { verdictOf } from "../../src/verify/problems.ts";
import { typeId } from "./sample.ts";
import { newKey, originOf, SealedLog, type SealingKey } from "./sealed.ts";

interface Evidence {
  events: readonly StoredEvent[];
  seals?: string[];
  anchors?: string[];
  trusted?: SealingKey;
  offered?: SealingKey[];
}

function verify({ events, seals = [], anchors = [], trusted, offered = [] }: Evidence): VerificationReport {
  const keys = {
    trusted: trusted === undefined ? [] : [trusted.publicKey],
    offered: offered.map(({ publicKey }) => publicKey),
  };
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning", seals: keys });
  verifier.expectSeals(seals.map(parseSeal));
  for (const anchor of anchors) verifier.seals?.anchor(parseSeal(anchor));
  for (let at = 0; at < events.length; at += 7) verifier.add(events.slice(at, at + 7));
  return verifier.finish();
}

const codes = (report: VerificationReport): string[] => report.problems.map(({ code }) => code);

/** The same log with one event changed and everything after it made to fit, as one without the key could. */
function rewritten(log: SealedLog, at: number): StoredEvent[] {
  const heads = new Map<string | null, string>();
  return log.events.map((stored, seq) => {
    const event = parseEvent(stored.canonical);
    // Another actor that can have requested it: a forger takes no impossible one.
    const change = seq === at ? { actor: typeId(event.actor === "cli" ? "usr" : "key", 8) } : {};
    const previous_hash = heads.get(event.agent_id) ?? event.previous_hash;
    const canonical = canonicalEvent({ ...event, ...change, previous_hash });
    heads.set(event.agent_id, eventHash(canonical));
    return { ...stored, canonical, hash: eventHash(canonical) };
  });
}

const log = new SealedLog().grow(40);
const seals = [log.seal(5), log.seal(5), log.seal(17), log.seal(33)];

describe("a sealed log", () => {
  test("is sealed through its newest seal, by the key that was brought or the one that it names", () => {
    const report = verify({ events: log.events, seals, trusted: log.key });
    expect(report).toMatchObject({
      valid: true,
      seals: { sealedThrough: 32, anchoredThrough: null, checked: 4, unverified: 0 },
    });
    expect(verdictOf(report)).toBe("verified");
    expect(verify({ events: log.events, seals, offered: [log.key] }).seals?.sealedThrough).toBe(32);
    expect(verify({ events: log.events, seals: [log.seal()], trusted: log.key }).seals?.sealedThrough).toBe(39);
  });

  test("without a key at hand the roots still have to fit, and the seals are called unverified", () => {
    const report = verify({ events: log.events, seals });
    expect(report).toMatchObject({ valid: true, seals: { sealedThrough: null, unverified: 4 } });
    expect(codes(verify({ events: rewritten(log, 20), seals }))).toEqual(["root_mismatch"]);
  });

  test("a log that was rewritten from some event on passes the check of its chains and fails that of its seals", () => {
    for (const at of [0, 4, 16, 32]) {
      const events = rewritten(log, at);
      expect(codes(verify({ events }))).toEqual([]);
      expect(codes(verify({ events, seals, trusted: log.key }))).toContain("root_mismatch");
    }
    // Events that no seal covers yet can be rewritten, and are reported as unsealed.
    expect(verify({ events: rewritten(log, 33), seals, trusted: log.key })).toMatchObject({
      valid: true,
      seals: { sealedThrough: 32 },
    });
  });

  test("a tail that was cut off is found by the seal that covered it", () => {
    expect(codes(verify({ events: log.events.slice(0, 30), seals, trusted: log.key }))).toEqual(["seal_beyond_log"]);
    expect(verify({ events: log.events.slice(0, 35), seals, trusted: log.key }).valid).toBe(true);
  });

  test("seals out of order, of another workspace, or by a stranger", () => {
    const [a, , b, c] = seals as [string, string, string, string];
    expect(codes(verify({ events: log.events, seals: [a, c, b], trusted: log.key }))).toEqual(["seal_invalid"]);
    const foreign = log.seal(17, log.key, originOf(typeId("ws", 4)));
    expect(codes(verify({ events: log.events, seals: [a, foreign, c], trusted: log.key }))).toEqual(["seal_invalid"]);
    const stranger = newKey();
    const strange = log.seal(17, stranger);
    expect(codes(verify({ events: log.events, seals: [a, strange, c], trusted: log.key }))).toEqual(["seal_signature"]);
    const forged = c.replace(/.{20}=\n$/, `${"A".repeat(20)}=\n`);
    expect(codes(verify({ events: log.events, seals: [a, forged], trusted: log.key }))).toEqual(["seal_signature"]);
  });

  test("a log that was remade and sealed with another key does not pass under the right key", () => {
    const theirs = new SealedLog(newKey()).grow(40);
    const own = verify({ events: theirs.events, seals: [theirs.seal()], offered: [theirs.key] });
    expect(own).toMatchObject({ valid: true, seals: { sealedThrough: 39 } });
    const report = verify({ events: theirs.events, seals: [theirs.seal()], offered: [theirs.key], trusted: log.key });
    expect(codes(report)).toEqual([]);
    expect(verdictOf(report)).toBe("undetermined");
    expect(report.seals?.undetermined.join()).toContain("does not lead to the key that sealed this log");
  });

  test("a key without any seal to try it on cannot establish anything", () => {
    const report = verify({ events: log.events, trusted: log.key });
    expect(verdictOf(report)).toBe("undetermined");
  });

  test("an empty tree may be sealed", () => {
    expect(verify({ events: log.events, seals: [log.seal(0), log.seal(3)], trusted: log.key })).toMatchObject({
      valid: true,
      seals: { checked: 2, sealedThrough: 2 },
    });
  });

  test("damage in the middle is found by the seals behind it, links or not", () => {
    const events = log.events.with(10, { ...log.events[10], canonical: "broken" } as never);
    expect(codes(verify({ events, seals, trusted: log.key }))).toContain("root_mismatch");
  });
});

describe("seals that the auditor kept", () => {
  test("anchor the log, whatever happened to its own seals", () => {
    const report = verify({ events: log.events, anchors: [log.seal(12)] });
    expect(report).toMatchObject({ valid: true, seals: { anchoredThrough: 11, sealedThrough: null } });
  });

  test("find truncation and rewriting even by who has the key", () => {
    expect(codes(verify({ events: log.events.slice(0, 11), anchors: [log.seal(12)] }))).toEqual(["seal_beyond_log"]);
    expect(codes(verify({ events: rewritten(log, 3), anchors: [log.seal(12)] }))).toEqual(["anchor_mismatch"]);
  });

  test("a seal of another workspace, or a damaged one, establishes nothing", () => {
    const foreign = log.seal(12, log.key, originOf(typeId("ws", 4)));
    expect(verdictOf(verify({ events: log.events, anchors: [foreign] }))).toBe("undetermined");
    const damaged = log.seal(12).replace(/.{20}=\n$/, `${"A".repeat(20)}=\n`);
    expect(verdictOf(verify({ events: log.events, seals, anchors: [damaged], trusted: log.key }))).toBe("undetermined");
  });
});

describe("a sealing key that was changed", () => {
  const first = newKey();
  const second = newKey();
  const rotated = new SealedLog(first).grow(10);
  rotated.append({
    agent: null,
    operation: ROTATE_SEAL_KEY,
    actor: "cli",
    details: { origin: rotated.origin, signing_key: second.fingerprint },
  });
  rotated.grow(20);
  const both = [rotated.seal(8), rotated.seal(11), rotated.seal(20, second)];

  test("passes from the old key to the one that it announced", () => {
    const offered = [first, second];
    expect(verify({ events: rotated.events, seals: both, offered }).seals?.sealedThrough).toBe(19);
    expect(verify({ events: rotated.events, seals: both, trusted: first, offered })).toMatchObject({
      valid: true,
      seals: { sealedThrough: 19 },
    });
    expect(verify({ events: rotated.events, seals: both, trusted: second, offered })).toMatchObject({
      valid: true,
      seals: { sealedThrough: 19 },
    });
  });

  test("does not pass unless the old key sealed the announcement", () => {
    const report = verify({
      events: rotated.events,
      seals: [both[0] as string, both[2] as string],
      trusted: first,
      offered: [second],
    });
    expect(report.seals?.sealedThrough).toBe(7);
  });

  test("may not sign what was before its announcement", () => {
    const early = rotated.seal(9, second);
    expect(codes(verify({ events: rotated.events, seals: [early], offered: [first, second] }))).toEqual([
      "seal_signature",
    ]);
  });
});
