/** Exports for other systems: every operation of the list in OCSF, held against the published schema. */
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { ocsfEventLine } from "../../src/log/export-views.ts";
import { EVENT_NAMES, eventFacts } from "../../src/operations.ts";
import { ocsfProblems } from "./ocsf.ts";
import { SampleLog, typeId } from "./sample.ts";

/** An event as OCSF, and what it has besides in common. */
function exported(operation: string, details: JsonObject, agent: string | null = "a") {
  const log = new SampleLog();
  if (operation !== "workspace.create") log.append({ agent, operation, details });
  const stored = log.events.at(-1) as (typeof log.events)[number];
  return JSON.parse(ocsfEventLine(stored));
}

/** Operations by what their rows say that they do. */
const READS = EVENT_NAMES.filter((name) => /_reads|watching|proofs/.test(eventFacts(name)?.group ?? ""));

describe("OCSF", () => {
  test.each([...EVENT_NAMES])("%s follows the schema", (operation) => {
    const details = [{}, { agent_id: "b" }, { key_id: typeId("key", 1) }, { account_id: typeId("usr", 1) }];
    for (const agent of ["a", null]) {
      for (const one of details) {
        const event = exported(operation, one, agent);
        expect(ocsfProblems(event)).toEqual([]);
        expect(event).toMatchObject({ metadata: { event_code: operation }, unmapped: { operation } });
      }
    }
  });

  test("what only reads is exported as a read, and nothing else is", () => {
    const reads = EVENT_NAMES.filter((name) => {
      const { class_uid, activity_id } = exported(name, {});
      return [600302, 600501, 600504, 600508, 300402].includes(class_uid * 100 + activity_id);
    });
    expect(reads).toEqual(READS);
  });

  test("administration is no read", () => {
    const typeOf = (name: string) => exported(name, {}).type_uid;
    expect(typeOf("agent.suspend")).toBe(300412);
    expect(typeOf("agent.resume")).toBe(300413);
    expect(typeOf("member.join")).toBe(300603);
    expect(typeOf("member.remove")).toBe(300604);
    expect(typeOf("key.rotate")).toBe(300403);
    expect(typeOf("data.write")).toBe(600505);
    expect(typeOf("account.create")).toBe(300101);
    expect(typeOf("account.change_password")).toBe(300103);
    expect(typeOf("account.reset_password")).toBe(300104);
    expect(typeOf("account.confirm_totp")).toBe(300110);
    expect(typeOf("account.disable_totp")).toBe(300111);
    expect(typeOf("account.begin_totp")).toBe(300199);
    expect(typeOf("account.sign_in")).toBe(300201);
    expect(typeOf("account.end_sessions")).toBe(300202);
  });

  test("an operation that is not in the list is an unknown API call", () => {
    const event = exported("later.operation", {});
    expect(event.type_uid).toBe(600300);
    expect(ocsfProblems(event)).toEqual([]);
  });

  test("the validator finds what does not follow the schema", () => {
    const event = exported("data.write", {});
    const { databucket, actor, ...rest } = event;
    expect(ocsfProblems({ ...rest, actor })).toEqual(["event has none of database, databucket, table"]);
    expect(ocsfProblems({ ...rest, databucket })).toEqual(["event.actor is missing"]);
    expect(ocsfProblems({ ...event, activity_id: 12 })).toEqual(["event.activity_id may not be 12", "type_uid"]);
    expect(ocsfProblems({ ...event, api: { operation: "x" } })).toEqual(["event.api needs the profile cloud"]);
    expect(ocsfProblems({ ...event, invented: 1 })).toEqual(["event.invented is no attribute"]);
  });
});
