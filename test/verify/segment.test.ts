import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalEvent, parseEvent } from "../../src/log/event.ts";
import { eventHash } from "../../src/log/hash.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { parseSeal, type Seal } from "../../src/log/seal.ts";
import type { VerificationReport } from "../../src/verify/events/contract.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import { SealedLog } from "../log/sealed.ts";

const COUNT = 60;
const log = new SealedLog().grow(COUNT, ["alpha", "beta", "gamma"]);
const seals = [0, 3, 17, 17, 33, 60].map((size) => parseSeal(log.seal(size)));
const keys = { trusted: [], offered: [log.key.publicKey] };

function atOnce(events: readonly StoredEvent[], expected: readonly Seal[]): VerificationReport {
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning", seals: keys });
  verifier.expectSeals(expected);
  verifier.add(events);
  return verifier.finish();
}

/** The same in stretches by seq, each by a verifier of its own, as threads would do it. */
function inSegments(
  events: readonly StoredEvent[],
  expected: readonly Seal[],
  cuts: readonly number[],
): VerificationReport {
  const whole = new LogVerifier({ scope: "workspace", start: "beginning", seals: keys });
  whole.expectSeals(expected);
  const bounds = [0, ...[...cuts].sort((a, b) => a - b), COUNT];
  for (const [index, start] of bounds.slice(0, -1).entries()) {
    const end = bounds[index + 1] as number;
    const marks = [...new Set(expected.map(({ size }) => size))].filter((size) => size > start && size <= end);
    const part = new LogVerifier({
      scope: "workspace",
      start: { seq: start },
      seals: { trusted: [], offered: [] },
      marks,
    });
    part.add(events.filter(({ seq }) => (seq as number) >= start && (seq as number) < end));
    whole.append(structuredClone(part.segment()));
  }
  return whole.finish();
}

const cuts = fc.array(fc.integer({ min: 0, max: COUNT }), { maxLength: 6 });
const summary = (report: VerificationReport) => ({
  ...report,
  problems: report.problems.map((problem) => JSON.stringify(problem)).sort(),
});

describe("a log verified in segments", () => {
  test("is reported as one that is verified at once", () => {
    const expected = summary(atOnce(log.events, seals));
    expect(expected).toMatchObject({ valid: true, seals: { sealedThrough: COUNT - 1, checked: 6 } });
    fc.assert(fc.property(cuts, (at) => expect(summary(inSegments(log.events, seals, at))).toEqual(expected)));
  });

  test("so are logs with an event edited, broken or half erased, or seals that do not fit", () => {
    const edits: ((event: StoredEvent) => StoredEvent)[] = [
      (event) => ({ ...event, canonical: (event.canonical as string).replace('"seq"', '"sec"') }),
      (event) => ({ ...event, hash: "0".repeat(64) }),
      (event) => ({ ...event, salt: null }),
      (event) => ({ ...event, details: null, salt: null }),
      (event) => {
        const canonical = canonicalEvent({ ...parseEvent(event.canonical as string), actor: "cli" });
        return { ...event, canonical, hash: eventHash(canonical) };
      },
    ];
    fc.assert(
      fc.property(cuts, fc.nat(COUNT - 1), fc.constantFrom(...edits), (at, seq, edit) => {
        const events = (log.events as StoredEvent[]).with(seq, edit(log.events[seq] as StoredEvent));
        expect(summary(inSegments(events, seals, at))).toEqual(summary(atOnce(events, seals)));
      }),
      // A first stretch that says nothing of whose log it is.
      { examples: [[[1], 0, edits[0] as (typeof edits)[number]]] },
    );
  });

  test("events missing or repeated are found wherever the cuts are", () => {
    fc.assert(
      fc.property(cuts, fc.nat(COUNT - 2), fc.boolean(), (at, seq, missing) => {
        const events: StoredEvent[] = [...log.events];
        if (missing) events.splice(seq, 1);
        else events[seq] = { ...(log.events[seq + 1] as StoredEvent), seq };
        const report = inSegments(events, [], at);
        expect(report).toMatchObject({ valid: false, chainIntact: false });
        expect(report.eventsChecked).toBe(events.length);
        expect(inSegments(events, seals, at).valid).toBe(false);
      }),
      // The last event of a stretch is missing, and the next stretch has none.
      { examples: [[[COUNT - 2, COUNT - 2], COUNT - 3, true]] },
    );
  });

  test("a seal that no segment marked is not skipped", () => {
    const whole = new LogVerifier({ scope: "workspace", start: "beginning", seals: keys });
    whole.expectSeals(seals);
    const part = new LogVerifier({ scope: "workspace", start: { seq: 0 }, seals: { trusted: [], offered: [] } });
    part.add(log.events);
    expect(() => whole.append(part.segment())).toThrow(RangeError);
  });
});
