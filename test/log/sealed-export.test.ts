import { describe, expect, test } from "bun:test";
import { parseEvent } from "../../src/log/event.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { type ExportReport, ExportVerifier } from "../../src/verify/events/export-read.ts";
import { type Verdict, verdictOf } from "../../src/verify/problems.ts";
import { exportOf, unsealed, type Wanted, written } from "./exported.ts";
import { typeId } from "./sample.ts";
import { newKey, originOf, SealedLog, type SealingKey } from "./sealed.ts";

const log = new SealedLog().grow(40);
const at = (seconds: number) => `2026-01-01T00:00:${seconds}.000Z`;
const WINDOW = { start: at(10), end: at(30) };

function verify(text: string, trusted: SealingKey | null = log.key, anchors: string[] = []): ExportReport {
  const verifier = new ExportVerifier({
    publicKeys: trusted === null ? [] : [trusted.publicKey],
    anchors: anchors.map(parseSeal),
  });
  verifier.push(new TextEncoder().encode(text));
  return verifier.finish();
}

const verdict = (...args: Parameters<typeof verify>): Verdict => verdictOf(verify(...args));

describe.each(["json", "ndjson"] as const)("sealed %s exports", (form) => {
  const write = async (wanted: Wanted = {}) => written(form, await exportOf(log, form, wanted));

  test("of the workspace, a window of it, an agent, a window of that: sealed to their last event", async () => {
    for (const wanted of [{}, WINDOW, { agent: "beta" }, { ...WINDOW, agent: "beta" }]) {
      const exported = await exportOf(log, form, wanted);
      const through = parseEvent(exported.events.at(-1)?.canonical as string).seq;
      expect(verify(written(form, exported))).toMatchObject({
        valid: true,
        undetermined: null,
        seals: { sealedThrough: through, undetermined: [] },
      });
    }
  });

  test("without a trusted key: sealed by the key that the genesis names, else said to be unverified", async () => {
    expect(verify(await write(), null).seals).toMatchObject({ sealedThrough: 39, unverified: 0 });
    const window = verify(await write(WINDOW), null);
    expect(window).toMatchObject({ valid: true, seals: { sealedThrough: null, unverified: 1 } });
  });

  test("a key, a seal or a proof exchanged is found", async () => {
    const exported = await exportOf(log, form, { end: at(30) });
    const text = written(form, exported);
    const [seal, publicKey] = [exported.log.seal(), exported.log.publicKey];
    expect(verdict(text, newKey())).toBe("undetermined");
    expect(verdict(text.replace(/"proof":\{[^}]*\}/, '"proof":null'))).toBe("tampered");
    expect(verdict(text.replace(/("after":\[")./, "$1x"))).toBe("tampered");
    const other = await exportOf(new SealedLog(newKey()).grow(40), form);
    const inJson = (value: string): string => JSON.stringify(value);
    for (const wrong of [
      other.log.seal(),
      log.seal(39),
      "x",
      exported.log.seal(41, log.key, originOf(typeId("ws", 9))),
    ]) {
      expect(verdict(text.replace(inJson(seal), inJson(wrong)))).toBe("tampered");
    }
    expect(verdict(text.replace(inJson(publicKey), inJson("x")))).toBe("tampered");
  });

  test("a seal taken off leaves an unsealed export, which does not do where a key was given", async () => {
    const text = written(form, unsealed(await exportOf(log, form)));
    expect(verdict(text, null)).toBe("verified");
    expect(verdict(text)).toBe("undetermined");
  });

  test("a kept seal anchors an export from the beginning, or one made under the same seal", async () => {
    const exported = await exportOf(log, form);
    const whole = written(form, exported);
    const own = exported.log.seal();
    expect(verify(whole, null, [log.seal(20)]).seals?.anchoredThrough).toBe(19);
    expect(verify(whole, null, [own]).seals?.anchoredThrough).toBe(39);
    // It claims to be whole, and the seal covers events that it does not hold.
    expect(verdict(whole, null, [exported.log.copy().grow(50).seal()])).toBe("tampered");
    for (const wanted of [WINDOW, { agent: "beta" }]) {
      const part = await exportOf(log, form, wanted);
      const through = parseEvent(part.events.at(-1)?.canonical as string).seq;
      expect(verify(written(form, part), null, [part.log.seal()]).seals?.anchoredThrough).toBe(through);
      expect(verdict(written(form, part), null, [log.seal(20)])).toBe("undetermined");
    }
    const other = new SealedLog(newKey()).grow(50);
    expect(verdict(whole, null, [other.seal(20)])).toBe("tampered");
    expect(verdict(whole, null, [other.seal(41)])).toBe("tampered");
  });
});
