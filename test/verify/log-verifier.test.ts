import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { causesOf } from "../../src/verify/causes.ts";
import type { VerificationReport } from "../../src/verify/events/contract.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import { MAX_REPORTED_PROBLEMS } from "../../src/verify/problems.ts";
import { auditId, SampleLog, sampleLog, typeId } from "../log/sample.ts";

function verify(events: readonly StoredEvent[]): VerificationReport {
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning" });
  verifier.add(events);
  return verifier.finish();
}

/** Returns an event as a forger would leave it: edited, with commitment and hash recomputed. */
function edited(stored: StoredEvent, change: Record<string, unknown>): StoredEvent {
  const canonical = canonicalJson({ ...parseEvent(stored.canonical as string), ...change } as never);
  return { ...stored, canonical, hash: eventHash(canonical) };
}

const codes = (report: VerificationReport): string[] => report.problems.map(({ code }) => code);

describe("the verifier", () => {
  test("a genuine log holds, in batches of any size, and says what it saw", () => {
    const log = sampleLog(50);
    const whole = verify(log.events);
    expect(whole).toMatchObject({
      valid: true,
      chainIntact: true,
      eventsChecked: 50,
      firstInvalid: null,
      problems: [],
    });
    expect(whole.agents.map(({ agent_id }) => agent_id)).toEqual([null, "alpha", "beta", "gamma"]);
    expect(whole.agents.reduce((sum, { events }) => sum + events, 0)).toBe(50);
    expect(whole.chainStart?.seq).toBe(0);
    expect(whole.chainEnd).toMatchObject({ seq: 49, hash: log.events[49]?.hash as string });
    for (const size of [1, 7, 49]) {
      const verifier = new LogVerifier({ scope: "workspace", start: "beginning" });
      for (let at = 0; at < 50; at += size) {
        verifier.add(log.events.slice(at, at + size));
      }
      expect(verifier.finish()).toEqual(whole);
    }
  });

  test("bytes and hex say the same", () => {
    const events = sampleLog().events.map((event) => ({
      ...event,
      canonical: Buffer.from(event.canonical),
      salt: Buffer.from(event.salt, "hex"),
      hash: Buffer.from(event.hash, "hex"),
    }));
    expect(verify(events).valid).toBe(true);
  });

  test("an agent's chain alone: seq may have gaps, agent_seq may not", () => {
    const log = sampleLog(40);
    const chain = log.events.filter(({ canonical }) => parseEvent(canonical).agent_id === "beta");
    const check = (events: readonly StoredEvent[]) => {
      const verifier = new LogVerifier({ scope: "agent", start: "beginning" });
      verifier.add(events);
      return verifier.finish({ agentId: "beta" });
    };
    expect(check(chain)).toMatchObject({ valid: true, eventsChecked: chain.length });
    expect(check(chain.toSpliced(2, 1))).toMatchObject({ valid: false, chainIntact: false });
    expect(check(chain.slice(1))).toMatchObject({ valid: false, chainIntact: false });
    expect(check(chain.toReversed())).toMatchObject({ valid: false, chainIntact: false });
    expect(codes(check([...chain, log.events[1] as StoredEvent]))).toContain("wrong_agent");
  });

  test("an event with another number keeps its place: those after it are not measured by it", () => {
    const { events } = sampleLog(30);
    for (const seq of [3, 17, 40, 2 ** 53 - 1]) {
      const original = events[9] as StoredEvent;
      const changed = { ...edited(original, { seq, id: auditId(seq) }), hash: original.hash } as StoredEvent;
      const { problems } = verify((events as StoredEvent[]).with(9, changed));
      const causes = causesOf(problems).map(({ problem }) => [problem.code, problem.seq]);
      expect(causes).toEqual([["hash_mismatch", 9]]);
    }
  });

  test("any drop, swap or repetition is found", () => {
    const events: StoredEvent[] = sampleLog(30).events;
    fc.assert(
      fc.property(fc.nat(29), fc.nat(29), fc.constantFrom("drop", "swap", "repeat", "move"), (a, b, how) => {
        const bad = [...events];
        const at = events[a] as StoredEvent;
        if (how === "drop") bad.splice(a, 1);
        if (how === "drop" && a === 29) return; // a cut tail needs a seal to be seen
        if (how === "swap") [bad[a], bad[b]] = [events[b] as StoredEvent, at];
        if (how === "repeat") bad.splice(b, 0, at);
        if (how === "move") bad.splice(b, 0, ...bad.splice(a, 1));
        if (a === b && how !== "drop" && how !== "repeat") return;
        const report = verify(bad);
        expect(report.valid).toBe(false);
        expect(report.chainIntact).toBe(false);
        expect(report.firstInvalid).not.toBeNull();
      }),
    );
  });

  test("an edit of any single member is found, whether the hash is recomputed or not", () => {
    const events: StoredEvent[] = sampleLog(20).events;
    const change = fc.constantFrom<Record<string, unknown>>(
      { actor: "system" },
      { agent_id: "delta" },
      { agent_seq: 99 },
      { blocked_by: "policy:other" },
      { config_version: "v77" },
      { details_commitment: "c".repeat(64) },
      { id: auditId(999) },
      { operation: "data.other" },
      { previous_hash: "d".repeat(64) },
      { result: "denied" },
      { seq: 77 },
      { timestamp: "2020-01-01T00:00:00.000Z" },
      { workspace_id: typeId("ws", 5) },
    );
    fc.assert(
      fc.property(fc.nat(19), change, fc.boolean(), (at, what, forgeHash) => {
        const original = events[at] as StoredEvent;
        const forged = edited(original, what);
        const report = verify(events.with(at, forgeHash ? forged : { ...forged, hash: original.hash ?? null }));
        const isLastOfItsChain = !events
          .slice(at + 1)
          .some(
            ({ canonical }) =>
              parseEvent(canonical as string).agent_id === parseEvent(original.canonical as string).agent_id,
          );
        // The newest event of a chain with a forged hash is what seals are for.
        const selfConsistent = ["actor", "blocked_by", "config_version", "operation", "result", "timestamp"];
        if (forgeHash && isLastOfItsChain && selfConsistent.includes(Object.keys(what)[0] as string)) return;
        expect(report.valid).toBe(false);
      }),
    );
  });

  test("every bit of stored bytes, details, salt and hash counts", () => {
    const { events } = sampleLog(6);
    for (let at = 0; at < events.length; at++) {
      const event = events[at] as (typeof events)[number];
      for (const part of ["canonical", "details", "salt", "hash"] as const) {
        const bytes = Buffer.from(event[part]);
        for (let place = 0; place < bytes.length; place++) {
          const flipped = Buffer.from(bytes);
          flipped[place] = (flipped[place] as number) ^ (1 << (place % 8));
          const value = part === "canonical" ? flipped : flipped.toString("latin1");
          expect(verify(events.with(at, { ...event, [part]: value } as never)).valid).toBe(false);
        }
      }
    }
  });

  test("details: erased is fine and counted, half erased or exchanged is not", () => {
    const events: StoredEvent[] = sampleLog(10).events;
    const [a, b] = [events[4], events[6]] as [StoredEvent, StoredEvent];
    const log = sampleLog(10);
    const details = { entries: 1, versions: 1, events: 1, erased: [[4, 4]] };
    log.append({ agent: "beta", operation: "data.erase", details });
    expect(verify((log.events as StoredEvent[]).with(4, { ...a, details: null, salt: null }))).toMatchObject({
      valid: true,
      erasedDetails: 1,
    });
    expect(codes(verify(events.with(4, { ...a, details: null, salt: null })))).toEqual(["details_missing"]);
    expect(codes(verify(events.with(4, { ...a, salt: null })))).toEqual(["details_mismatch"]);
    expect(codes(verify(events.with(4, { ...a, details: b.details, salt: b.salt })))).toEqual(["details_mismatch"]);
    const report = verify(events.with(4, { ...a, details: b.details }));
    expect(report).toMatchObject({ valid: false, chainIntact: true });
    expect(report.firstInvalid?.seq).toBe(4);
  });

  test("details that are committed to but not canonical are refused", () => {
    const log = sampleLog(5);
    const details = '{"key": "x"}';
    const salt = Buffer.alloc(16, 1);
    const commitment = new Bun.SHA256().update(salt).update(details).digest("hex");
    expect(commitment).not.toBe(saltedDigest(salt, '{"key":"x"}'));
    const events: StoredEvent[] = log.events;
    const last = edited(events[4] as StoredEvent, { details_commitment: commitment });
    const report = verify(events.with(4, { ...last, details, salt }));
    expect(codes(report)).toEqual(["details_malformed"]);
  });

  test("the genesis: seq 0, workspace.create, and nowhere else", () => {
    const log = sampleLog(5);
    expect(verify(log.events.slice(1)).chainIntact).toBe(false);
    const second = new SampleLog();
    second.append({ agent: null, operation: "workspace.create" });
    expect(codes(verify(second.events))).toEqual(["genesis_invalid", "actor_impossible"]);
    const other = edited(log.events[0] as StoredEvent, { operation: "key.create" });
    expect(codes(verify([other]))).toEqual(["genesis_invalid", "details_invalid"]);
  });

  test("events of another workspace do not pass", () => {
    const ours = sampleLog(10).events;
    const theirs = new SampleLog(typeId("ws", 3));
    for (let i = 1; i < 10; i++) theirs.write("alpha", "k", "v");
    expect(codes(verify([...ours.slice(0, 5), ...theirs.events.slice(5)]))).toContain("wrong_workspace");
    const verifier = new LogVerifier({ scope: "workspace", start: "beginning" });
    verifier.add(ours);
    expect(codes(verifier.finish({ workspaceId: typeId("ws", 3) }))).toEqual(["wrong_workspace"]);
  });

  test("an empty log is an empty report", () => {
    expect(verify([])).toMatchObject({ valid: true, eventsChecked: 0, chainStart: null, chainEnd: null, agents: [] });
  });

  test("problems are counted all and named up to a bound", () => {
    const log = new SampleLog();
    for (let i = 0; i < MAX_REPORTED_PROBLEMS + 100; i++) log.write("a", "k", "v");
    const report = verify(log.events.map((event) => ({ ...event, hash: "0".repeat(64) })));
    expect(report.problemCount).toBe(MAX_REPORTED_PROBLEMS + 101);
    expect(report.problems).toHaveLength(MAX_REPORTED_PROBLEMS);
    expect(report.agents[1]?.first_invalid?.seq).toBe(1);
  });
});
