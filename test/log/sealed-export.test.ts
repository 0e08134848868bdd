import { describe, expect, test } from "bun:test";
import { parseEvent } from "../../src/log/event.ts";
import type { ExportHeader } from "../../src/log/export-schema.ts";
import { exportProof, exportWriter } from "../../src/log/export-write.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { type ExportReport, ExportVerifier } from "../../src/verify/events/export-read.ts";
import { type Verdict, verdictOf } from "../../src/verify/problems.ts";
import type { SampleEvent } from "./sample.ts";
import { typeId } from "./sample.ts";
import { newKey, originOf, SealedLog, type SealingKey } from "./sealed.ts";

const log = new SealedLog().grow(40);
const seal = log.seal();
const beta = log.events.filter(({ canonical }) => parseEvent(canonical).agent_id === "beta");

interface Wanted {
  events: readonly SampleEvent[];
  agent?: string;
  by?: string;
  header?: Partial<ExportHeader>;
}

/** An export as the daemon makes it: sealed as it is now. */
async function exported(form: "json" | "ndjson", { events, agent, by = seal, header = {} }: Wanted): Promise<string> {
  const seqs = events.map(({ canonical }) => parseEvent(canonical));
  const run = { first: seqs[0]?.seq as number, last: seqs.at(-1)?.seq as number };
  const first = seqs[0];
  const before =
    first && agent !== undefined && first.agent_seq > 1
      ? { agent_seq: first.agent_seq - 1, hash: first.previous_hash }
      : null;
  const writer = exportWriter(form, {
    workspace_id: log.workspaceId,
    agent_id: agent ?? null,
    start_time: run.first > 0 ? "2026-01-01T00:00:01.000Z" : null,
    end_time: null,
    exported_at: "2026-02-01T00:00:00.000Z",
    event_count: events.length,
    starts_after: before,
    proof: await exportProof(agent ?? null, run, parseSeal(by).size, log.tiles()),
    seal: by,
    public_key: log.publicKey,
    ...header,
  });
  return writer.begin() + events.map((event) => writer.event(event)).join("") + writer.end();
}

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
  test("of the workspace, a window of it, an agent, a window of that: sealed to their last event", async () => {
    const cases: [Wanted, number][] = [
      [{ events: log.events }, 39],
      [{ events: log.events.slice(0, 30), by: log.seal(30) }, 29],
      [{ events: log.events.slice(7, 23) }, 22],
      [{ events: beta, agent: "beta" }, parseEvent(beta.at(-1)?.canonical as string).seq],
      [{ events: beta.slice(3, 8), agent: "beta" }, parseEvent(beta[7]?.canonical as string).seq],
    ];
    for (const [wanted, through] of cases) {
      const report = verify(await exported(form, wanted));
      expect(report).toMatchObject({
        valid: true,
        undetermined: null,
        seals: { sealedThrough: through, undetermined: [] },
      });
    }
  });

  test("without a trusted key: sealed by the key that the genesis names, else said to be unverified", async () => {
    const whole = await exported(form, { events: log.events });
    expect(verify(whole, null).seals).toMatchObject({ sealedThrough: 39, unverified: 0 });
    const window = await exported(form, { events: log.events.slice(5) });
    expect(verify(window, null)).toMatchObject({ valid: true, seals: { sealedThrough: null, unverified: 1 } });
  });

  test("an event dropped at either end or in the middle, with the counts made to fit, is found", async () => {
    for (const agent of [undefined, "beta"]) {
      const events = agent === undefined ? log.events.slice(5, 30) : beta.slice(2, 10);
      const good = await exported(form, { events, ...(agent && { agent }) });
      expect(verdict(good)).toBe("verified");
      const proof = /"proof":(\{[^}]*\})/.exec(good)?.[1] as string;
      for (const cut of [events.slice(0, -1), events.slice(1), events.toSpliced(3, 1)]) {
        const forged = (await exported(form, { events: cut, ...(agent && { agent }) })).replace(
          /"proof":\{[^}]*\}/,
          `"proof":${proof}`,
        );
        // The beginning of an agent's window may be cut: what is left is still proved by its links.
        const expected = agent !== undefined && cut[0] !== events[0] ? "verified" : "tampered";
        expect(verdict(forged)).toBe(expected);
      }
    }
  });

  test("a key, a seal or a proof exchanged is found", async () => {
    const header = { end_time: "2026-01-01T00:00:30.000Z" };
    const text = await exported(form, { events: log.events.slice(0, 30), header });
    expect(verdict(text, newKey())).toBe("undetermined");
    expect(verdict(text.replace(/"proof":\{[^}]*\}/, '"proof":null'))).toBe("tampered");
    expect(verdict(text.replace(/("after":\[")./, "$1f"))).toBe("tampered");
    const other = new SealedLog(newKey()).grow(40);
    const inJson = (value: string): string => JSON.stringify(value);
    expect(verdict(text.replace(inJson(seal), inJson(other.seal())))).toBe("tampered");
    expect(verdict(text.replace(inJson(seal), inJson(log.seal(39))))).toBe("tampered");
    expect(verdict(text.replace(inJson(seal), inJson("x")))).toBe("tampered");
    const foreign = log.seal(40, log.key, originOf(typeId("ws", 9)));
    expect(verdict(text.replace(inJson(seal), inJson(foreign)))).toBe("tampered");
    expect(verdict(text.replace(inJson(log.publicKey), inJson("x")))).toBe("tampered");
  });

  test("a seal taken off leaves an unsealed export, which does not do where a key was given", async () => {
    const text = await exported(form, { events: log.events, header: { seal: null, proof: null, public_key: null } });
    expect(verdict(text, null)).toBe("verified");
    expect(verdict(text)).toBe("undetermined");
  });

  test("a kept seal anchors an export from the beginning, or one made under the same seal", async () => {
    const whole = await exported(form, { events: log.events.slice(0, 30), by: log.seal(30) });
    expect(verify(whole, null, [log.seal(20)]).seals?.anchoredThrough).toBe(19);
    expect(verify(whole, null, [log.seal(30)]).seals?.anchoredThrough).toBe(29);
    // It claims to be whole, and the seal covers events that it does not hold.
    expect(verdict(whole, null, [log.seal(35)])).toBe("tampered");
    const window = { end_time: "2026-01-01T00:00:30.000Z" };
    const part = await exported(form, { events: log.events.slice(0, 30), header: window });
    expect(verify(part, null, [seal]).seals?.anchoredThrough).toBe(29);
    expect(verdict(part, null, [log.seal(35)])).toBe("undetermined");
    const other = new SealedLog(newKey()).grow(40);
    expect(verdict(whole, null, [other.seal(20)])).toBe("tampered");
    expect(verdict(whole, null, [other.seal(40)])).toBe("tampered");
    const agent = await exported(form, { events: beta, agent: "beta" });
    expect(verify(agent, null, [seal]).seals?.anchoredThrough).toBe(parseEvent(beta.at(-1)?.canonical as string).seq);
    expect(verdict(agent, null, [log.seal(20)])).toBe("undetermined");
  });
});
