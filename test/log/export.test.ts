import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonValue } from "../../src/json.ts";
import { parseEvent } from "../../src/log/event.ts";
import type { OlderExportHeader } from "../../src/log/export-schema.ts";
import { csvField, exportWriter } from "../../src/log/export-write.ts";
import { PRESENTED_MEMBERS, presentEvent, storedFromPresented } from "../../src/log/present.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { type ExportReport, ExportVerifier } from "../../src/verify/events/export-read.ts";
import { sampleLog, WORKSPACE } from "./sample.ts";

const log = sampleLog(40);
const beta = log.events.filter(({ canonical }) => parseEvent(canonical).agent_id === "beta");

function about(
  events: readonly StoredEvent[],
  change: Partial<OlderExportHeader> = {},
): Omit<OlderExportHeader, "format"> {
  return {
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
  };
}

function write(
  format: "json" | "ndjson" | "csv",
  events: readonly StoredEvent[],
  change: Partial<OlderExportHeader> = {},
): string {
  const writer = exportWriter(format, about(events, change));
  return writer.begin() + events.map((event) => writer.event(event)).join("") + writer.end();
}

function verify(text: string | Uint8Array, chunk = 1 << 16): ExportReport {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const verifier = new ExportVerifier();
  for (let at = 0; at < bytes.length; at += chunk) verifier.push(bytes.subarray(at, at + chunk));
  return verifier.finish();
}

const verdict = ({ valid, undetermined }: ExportReport): string =>
  !valid ? "tampered" : undetermined === null ? "verified" : "undetermined";

const forms = ["json", "ndjson"] as const;

describe.each(forms)("%s exports", (form) => {
  test("verify whole, and in chunks of any size", () => {
    const text = write(form, log.events);
    for (const size of [1, 3, 17, 1000, 1 << 20]) {
      const report = verify(text, size);
      expect(report).toMatchObject({ valid: true, chainIntact: true, undetermined: null, eventsChecked: 40 });
      expect(report.header?.workspace_id).toBe(WORKSPACE);
    }
  });

  test("one agent's chain, a window of it, a window of the workspace, and nothing at all", () => {
    const agent = { agent_id: "beta" };
    expect(verdict(verify(write(form, beta, agent)))).toBe("verified");
    const before = beta[3] as (typeof beta)[number];
    const starts_after = { agent_seq: 4, hash: before.hash };
    const { timestamp } = parseEvent((beta[4] as (typeof beta)[number]).canonical);
    const part = { ...agent, starts_after, start_time: timestamp };
    expect(verdict(verify(write(form, beta.slice(4, 9), part)))).toBe("verified");
    expect(verdict(verify(write(form, beta.slice(4, 9), { ...agent, starts_after })))).toBe("tampered");
    expect(verdict(verify(write(form, beta.slice(4, 9), agent)))).toBe("tampered");
    expect(verdict(verify(write(form, beta.slice(5, 9), part)))).toBe("tampered");
    const start_time = "2026-01-01T00:00:10Z";
    expect(verdict(verify(write(form, log.events.slice(10, 30), { start_time })))).toBe("verified");
    expect(verdict(verify(write(form, log.events.slice(10, 30))))).toBe("tampered");
    expect(verdict(verify(write(form, [])))).toBe("undetermined");
  });

  test("any event dropped, swapped or repeated is found", () => {
    fc.assert(
      fc.property(fc.nat(39), fc.nat(39), fc.constantFrom("drop", "swap", "repeat"), (a, b, how) => {
        const bad: StoredEvent[] = [...log.events];
        if (how === "drop") bad.splice(a, 1);
        if (how === "repeat") bad.splice(b, 0, bad[a] as StoredEvent);
        if (how === "swap") [bad[a], bad[b]] = [bad[b] as StoredEvent, bad[a] as StoredEvent];
        if (how === "swap" && a === b) return;
        const text = write(form, bad).replaceAll(/"event_count":[0-9]+/g, '"event_count":40');
        expect(verdict(verify(text))).toBe("tampered");
      }),
    );
  });

  test("any member of a shown event that is edited, removed or added is found", () => {
    const shown = presentEvent(log.events[12] as StoredEvent) as unknown as Record<string, JsonValue>;
    const original = JSON.stringify(shown);
    const text = write(form, log.events);
    const inText = form === "json" ? original : original.slice(1);
    expect(text).toContain(inText);
    const replaced = (event: object): string =>
      text.replace(inText, JSON.stringify(event).slice(form === "json" ? 0 : 1));
    for (const member of PRESENTED_MEMBERS) {
      for (const value of [null, 5, "5", true, "x", {}, [], "0".repeat(64), log.workspaceId, { key: "k" }]) {
        if (JSON.stringify(value) === JSON.stringify(shown[member])) continue;
        expect([member, value, verdict(verify(replaced({ ...shown, [member]: value })))]).toEqual([
          member,
          value,
          "tampered",
        ]);
      }
      const { [member]: _, ...without } = shown;
      expect(verdict(verify(replaced(without)))).toBe("tampered");
    }
    expect(verdict(verify(replaced({ ...shown, note: "x" })))).toBe("tampered");
    const doubled = text.replace(inText, `${form === "json" ? "{" : ""}"details":{},${original.slice(1)}`);
    expect(verdict(verify(doubled))).toBe("tampered");
  });

  test("an export that another tool reformatted still verifies", () => {
    const text = write(form, log.events);
    const again =
      form === "json"
        ? JSON.stringify(JSON.parse(text), null, 2)
        : text
            .trim()
            .split("\n")
            .map((line) => JSON.stringify(JSON.parse(line)).replaceAll('":', '" : '))
            .join("\r\n");
    expect(verdict(verify(again, 100))).toBe("verified");
  });

  test("cut anywhere it is incomplete, never verified", () => {
    const bytes = new TextEncoder().encode(write(form, log.events.slice(0, 4)));
    for (let length = 0; length < bytes.length - 1; length++) {
      const report = verify(bytes.subarray(0, length));
      expect([length, verdict(report)]).toEqual([length, "undetermined"]);
    }
  });

  test("with a bad event and a missing end, the verdict is tampered", () => {
    const text = write(form, log.events.toSpliced(5, 1));
    expect(verdict(verify(text.slice(0, -40)))).toBe("tampered");
  });

  test("a wrong count is found", () => {
    const text = write(form, log.events);
    for (const match of text.matchAll(/"event_count":40/g)) {
      const at = match.index ?? 0;
      expect(verdict(verify(`${text.slice(0, at)}"event_count":39${text.slice(at + 16)}`))).toBe("tampered");
    }
  });
});

const NESTED = "[".repeat(100_000) + "]".repeat(100_000);

describe("what is no export", () => {
  test.each([
    ["nothing", ""],
    ["a number", "5"],
    ["an array", "[]"],
    ["another object", "{}"],
    ["another line", '{"type":"event"}\n'],
    ["a name twice", '{"format":"x","format":"x"}'],
    ["another object with something behind it", '{"format":"x"}{}'],
    ["another format", write("json", []).replace("governd.audit-export/1", "governd.audit-export/9")],
    ["events that are no list", write("json", []).replace(/\[\s*\]/, "{}")],
    ["events first", '{"events":[{}],"agent_id":null}'],
    ["nested deeper than calls can be", `{"format":${NESTED}}`],
    ["a line nested so", `{"type":"header","format":${NESTED}}\n`],
    ["no UTF-8", new Uint8Array([0x7b, 0xff, 0xfe])],
  ])("%s is undetermined, with a reason", (_, input) => {
    const report = verify(input);
    expect(report.undetermined).toBeString();
    expect(report.valid).toBe(true);
  });

  test.each([
    ["a further member", write("json", log.events).replace('"events"', '"more":1,"events"')],
    ["a name twice", write("json", log.events).replace('"events"', '"format":"x","events"')],
    ["something behind it", `${write("json", log.events)}x`],
    ["a line behind it", `${write("ndjson", log.events)}{"type":"event"}\n`],
  ])("%s is tampering, in chunks of any size", (_, text) => {
    for (const size of [1, 17, 1 << 20]) expect(verdict(verify(text, size))).toBe("tampered");
  });

  test("an event whose details are nested deeper than calls can be is tampering", () => {
    const nested = write("json", log.events).replace(/"details":\{[^{}]*\}/, `"details":{"a":${NESTED}}`);
    expect(nested).toContain(NESTED);
    expect(verdict(verify(nested))).toBe("tampered");
  });

  test("an event that is no object is tampering", () => {
    expect(verdict(verify(write("json", []).replace(/\[\s*\]/, '[{"id":5}]')))).toBe("tampered");
  });
});

describe("an event as shown", () => {
  test("goes there and back", () => {
    for (const stored of log.events) {
      const shown = presentEvent(stored);
      expect(Object.keys(shown)).toEqual([...PRESENTED_MEMBERS]);
      const { seq, ...rest } = stored;
      expect(storedFromPresented(shown as unknown as JsonValue)).toEqual(rest);
      const erased = { ...stored, details: null, salt: null };
      expect(presentEvent(erased)).toEqual({ ...shown, details: null, details_salt: null });
    }
  });

  test("a writer does not end an export that is short of events", () => {
    expect(() => {
      const writer = exportWriter("json", about(log.events));
      writer.event(log.events[0] as StoredEvent);
      writer.end();
    }).toThrow("39 events are missing");
  });
});

describe("csv exports", () => {
  test("one line each, CRLF, null as an empty field, details quoted", () => {
    const lines = write("csv", log.events).split("\r\n");
    expect(lines).toHaveLength(42);
    expect(lines[0]).toStartWith("seq,id,timestamp,");
    expect(lines[1]).toContain(`,${WORKSPACE},,1,workspace.create,ok,,cli,,"{""signing_key""`);
  });

  test("no field is a formula to a spreadsheet", () => {
    expect(["=1", "+1", "-1", "@a", "\tx", "a=1"].map(csvField)).toEqual(["'=1", "'+1", "'-1", "'@a", "'\tx", "a=1"]);
    expect(csvField('say "hi", you')).toBe('"say ""hi"", you"');
    expect([csvField(null), csvField(0)]).toEqual(["", "0"]);
  });
});
