import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonValue } from "../../src/json.ts";
import { EventFormatError } from "../../src/log/event.ts";
import { csvField, exportWriter } from "../../src/log/export-write.ts";
import { PRESENTED_MEMBERS, presentEvent, storedFromPresented } from "../../src/log/present.ts";
import type { StoredEvent } from "../../src/log/rows.ts";
import { type ExportReport, ExportVerifier } from "../../src/verify/events/export-read.ts";
import { exportOf, type Wanted, written } from "./exported.ts";
import { sampleLog, WORKSPACE } from "./sample.ts";

const log = sampleLog(40);

/** The text of the export of the log, also with other events in it. */
async function write(form: "json" | "ndjson" | "csv", wanted: Wanted = {}, events?: readonly StoredEvent[]) {
  const exported = await exportOf(log, form, wanted);
  return written(form, { ...exported, events: events ?? exported.events });
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
  test("verify whole, and in chunks of any size", async () => {
    const text = await write(form);
    for (const size of [1, 3, 17, 1000, 1 << 20]) {
      const report = verify(text, size);
      expect(report).toMatchObject({ valid: true, chainIntact: true, undetermined: null, eventsChecked: 40 });
      expect(report.header?.workspace_id).toBe(WORKSPACE);
    }
  });

  test("one agent's chain, a window of it, a window of the workspace, and nothing at all", async () => {
    const at = (seconds: number) => `2026-01-01T00:00:${seconds}.000Z`;
    const windows: Wanted[] = [{ start: at(10), end: at(30) }, { start: at(10) }, { end: at(30) }, { start: at(50) }];
    for (const window of windows) {
      for (const wanted of [window, { ...window, agent: "beta" }]) {
        const { events, ...exported } = await exportOf(log, form, wanted);
        expect([wanted, verdict(verify(written(form, { ...exported, events })))]).toEqual([wanted, "verified"]);
        if (events.length === 0) continue;
        for (const cut of [events.slice(1), events.slice(0, -1)]) {
          expect(verdict(verify(written(form, { ...exported, events: cut })))).toBe("tampered");
        }
      }
    }
  });

  test("any event dropped, swapped or repeated is found", async () => {
    const { about, events } = await exportOf(log, form);
    fc.assert(
      fc.property(fc.nat(39), fc.nat(39), fc.constantFrom("drop", "swap", "repeat"), (a, b, how) => {
        const bad: StoredEvent[] = [...events];
        if (how === "drop") bad.splice(a, 1);
        if (how === "repeat") bad.splice(b, 0, bad[a] as StoredEvent);
        if (how === "swap") [bad[a], bad[b]] = [bad[b] as StoredEvent, bad[a] as StoredEvent];
        if (how === "swap" && a === b) return;
        const text = written(form, { about, events: bad }).replaceAll(/"event_count":[0-9]+/g, '"event_count":40');
        expect(verdict(verify(text))).toBe("tampered");
      }),
    );
  });

  test("any member of a shown event that is edited, removed or added is found", async () => {
    const shown = presentEvent(log.events[12] as StoredEvent) as unknown as Record<string, JsonValue>;
    const original = JSON.stringify(shown);
    const text = await write(form);
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

  test("an export that another tool reformatted still verifies", async () => {
    const text = await write(form);
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

  test("cut anywhere it is incomplete, never verified", async () => {
    const bytes = new TextEncoder().encode(await write(form, { end: "2026-01-01T00:00:04.000Z" }));
    for (let length = 0; length < bytes.length - 1; length++) {
      const report = verify(bytes.subarray(0, length));
      expect([length, verdict(report)]).toEqual([length, "undetermined"]);
    }
  });

  test("with a bad event and a missing end, the verdict is tampered", async () => {
    const text = await write(form, {}, log.events.toSpliced(5, 1));
    expect(verdict(verify(text.slice(0, -40)))).toBe("tampered");
  });

  test("a wrong count is found", async () => {
    const text = await write(form);
    for (const match of text.matchAll(/"event_count":40/g)) {
      const at = match.index ?? 0;
      expect(verdict(verify(`${text.slice(0, at)}"event_count":39${text.slice(at + 16)}`))).toBe("tampered");
    }
  });
});

const NESTED = "[".repeat(100_000) + "]".repeat(100_000);

describe("what is no export", async () => {
  const [json, ndjson, none] = [await write("json"), await write("ndjson"), await write("json", {}, [])];

  test.each([
    ["nothing", ""],
    ["a number", "5"],
    ["an array", "[]"],
    ["another object", "{}"],
    ["another line", '{"type":"event"}\n'],
    ["a name twice", '{"format":"x","format":"x"}'],
    ["another object with something behind it", '{"format":"x"}{}'],
    ["another format", none.replace("governd.audit-export/1", "governd.audit-export/9")],
    ["events that are no list", none.replace(/\[\s*\]/, "{}")],
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
    ["a further member", json.replace('"events"', '"more":1,"events"')],
    ["a name twice", json.replace('"events"', '"format":"x","events"')],
    ["something behind it", `${json}x`],
    ["a line behind it", `${ndjson}{"type":"event"}\n`],
  ])("%s is tampering, in chunks of any size", (_, text) => {
    for (const size of [1, 17, 1 << 20]) expect(verdict(verify(text, size))).toBe("tampered");
  });

  test("an event whose details are nested deeper than calls can be is tampering", () => {
    const nested = json.replace(/"details":\{[^{}]*\}/, `"details":{"a":${NESTED}}`);
    expect(nested).toContain(NESTED);
    expect(verdict(verify(nested))).toBe("tampered");
  });

  test("an event that is no object is tampering", () => {
    expect(verdict(verify(none.replace(/\[\s*\]/, '[{"id":5}]')))).toBe("tampered");
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

  test("has no member of another type than its own", () => {
    const shown = presentEvent(log.events[0] as StoredEvent);
    const nullable: string[] = ["agent_id", "blocked_by", "config_version", "details", "details_salt"];
    for (const member of PRESENTED_MEMBERS) {
      const own = member === "details" ? "object" : member.endsWith("seq") ? "number" : "string";
      const others = [null, true, 7, "text", [], {}].filter((value) =>
        value === null ? !nullable.includes(member) : Array.isArray(value) || typeof value !== own,
      );
      for (const value of others) {
        const read = () => storedFromPresented({ ...shown, [member]: value } as unknown as JsonValue);
        expect(read, `${member}: ${JSON.stringify(value)}`).toThrow(EventFormatError);
      }
    }
  });

  test("a writer does not end an export that is short of events", async () => {
    const { about } = await exportOf(log, "json");
    expect(() => {
      const writer = exportWriter("json", about);
      writer.event(log.events[0] as StoredEvent);
      writer.end();
    }).toThrow("39 events are missing");
  });
});

describe("csv exports", () => {
  test("one line each, CRLF, null as an empty field, details quoted", async () => {
    const lines = (await write("csv")).split("\r\n");
    expect(lines).toHaveLength(42);
    expect(lines[0]).toStartWith("seq,id,timestamp,");
    expect(lines[1]).toContain(
      `,${WORKSPACE},,1,workspace.create,ok,,cli,,"{""format"":""governd.audit/1"",""name"":""sample"",`,
    );
  });

  test("no field is a formula to a spreadsheet", () => {
    expect(["=1", "+1", "-1", "@a", "\tx", "a=1"].map(csvField)).toEqual(["'=1", "'+1", "'-1", "'@a", "'\tx", "a=1"]);
    expect(csvField('say "hi", you')).toBe('"say ""hi"", you"');
    expect([csvField(null), csvField(0)]).toEqual(["", "0"]);
  });
});
