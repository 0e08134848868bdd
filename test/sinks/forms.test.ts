/** What leaves by a sink, for every operation of the list and in every form: it follows the published schemas, and without details it holds nothing that a client chose. */
import { describe, expect, test } from "bun:test";
import { bodyOf } from "../../src/follow/sinks/body.ts";
import { eventLine, recordLine } from "../../src/follow/sinks/lines.ts";
import { logForm } from "../../src/follow/sinks/otlp.ts";
import type { JsonObject } from "../../src/json.ts";
import { presentEvent } from "../../src/log/present.ts";
import { EVENT_NAMES } from "../../src/operations.ts";
import { SINK_FORMATS } from "../../src/sink.ts";
import { ocsfProblems } from "../log/ocsf.ts";
import { SampleLog } from "../log/sample.ts";
import { otlpProblems } from "./otlp.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/** Details that a client had a part in, in every member that an event has. */
const CONFIDENTIAL: JsonObject = {
  key: "confidential/key",
  label: "confidential label",
  name: "confidential name",
  reason: "confidential reason",
  value: "confidential value",
  metadata: { note: "confidential note" },
  findings: [{ detector: "confidential_pattern", start: 1, end: 2 }],
  filter: { text: "confidential" },
  trace: TRACEPARENT,
};

function stored(operation: string, details: JsonObject, agent: string | null = "a") {
  const log = new SampleLog();
  if (operation !== "workspace.create") log.append({ agent, operation, details });
  return presentEvent(log.events.at(-1) as (typeof log.events)[number]);
}

describe.each([...SINK_FORMATS])("%s", (format) => {
  test.each([...EVENT_NAMES])("%s without details holds nothing that a client chose", (operation) => {
    for (const agent of ["a", null]) {
      const { text, trace, name } = eventLine(stored(operation, CONFIDENTIAL, agent), format, false);
      expect(text).not.toContain("confidential");
      expect(text).not.toContain("details_salt");
      expect(name).toBe(operation);
      if (operation !== "workspace.create") expect(trace).toBe(TRACEPARENT);
    }
  });

  test("details are there when they are asked for", () => {
    expect(eventLine(stored("data.write", CONFIDENTIAL), format, true).text).toContain("confidential/key");
  });
});

test.each([...EVENT_NAMES])("%s follows the schema of OCSF, with and without details", (operation) => {
  for (const includeDetails of [true, false]) {
    const { text } = eventLine(stored(operation, { trace: TRACEPARENT }), "ocsf", includeDetails);
    expect(ocsfProblems(JSON.parse(text))).toEqual([]);
  }
});

test("what an OTLP collector gets follows its schema", () => {
  const events = [stored("data.write", CONFIDENTIAL), stored("data.read", {}), stored("workspace.create", {})];
  const records = [
    { type: "position", position: 3, hash: "00", seal_size: null },
    { type: "gap", from: 1, to: 2 },
    { type: "test", sink_id: "snk_1" },
  ] as const;
  for (const format of SINK_FORMATS) {
    const lines = [
      ...events.map((event) => eventLine(event, format, true)),
      ...records.map((record) => recordLine(record, format, "ws_1", NOW)),
    ];
    const request = JSON.parse(bodyOf(logForm("ws_1", NOW), lines).toString());
    expect(otlpProblems(request)).toEqual([]);
    const [written, , , , gap] = request.resourceLogs[0].scopeLogs[0].logRecords;
    expect(written).toMatchObject({
      eventName: "data.write",
      traceId: TRACEPARENT.split("-")[1] as string,
      spanId: TRACEPARENT.split("-")[2] as string,
      flags: 1,
    });
    expect(gap).toMatchObject({ eventName: "gap", timeUnixNano: `${NOW}000000` });
  }
});

test("the validator of OTLP refuses what the schema does not have", () => {
  const request = (record: object) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
  for (const [record, problem] of [
    [{ timeUnixNano: 1 }, "timeUnixNano is no fixed64"],
    [{ traceId: "00" }, "traceId is no hex16"],
    [{ severityNumber: 0 }, "severityNumber is no severity"],
    [{ time_unix_nano: "1" }, "time_unix_nano is no field"],
    [{ body: { stringValue: "a", intValue: "1" } }, "body has several values"],
    [{ attributes: { key: "a" } }, "attributes is no list"],
  ] as const) {
    expect(otlpProblems(request(record))).toEqual([expect.stringContaining(problem)]);
  }
});
