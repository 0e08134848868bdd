/** What operations need before them: honest logs hold, and logs that make no sense are found, by both programs. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { JsonObject } from "../../src/json.ts";
import { formatVerifierKey, verifierKey } from "../../src/log/note.ts";
import { ExportVerifier } from "../../src/verify/events/export-read.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import { exportOf, written } from "../log/exported.ts";
import { type NewEvent, typeId } from "../log/sample.ts";
import { newKey, SealedLog } from "../log/sealed.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "./second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const second = new SecondVerifier();
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const key = newKey();
const [FIRST, OF_OTHER, LATER] = [typeId("cp", 1), typeId("cp", 2), typeId("cp", 9)] as const;
const P1 = { policies_version: "p1" };

/** Agents a and b with a checkpoint each, of which a has two configs; the workspace has policies. */
function filled(): SealedLog {
  const log = new SealedLog(key);
  log.append(policies("p1"));
  log.versions.set(null, "v1");
  for (const version of ["v1", "v2"]) {
    log.append(of("config.update", { version }));
    log.versions.set("a", version);
  }
  log.append(of("checkpoint.create", { checkpoint_id: FIRST, as_of_seq: log.events.length }));
  log.append({ ...of("checkpoint.create", { checkpoint_id: OF_OTHER, as_of_seq: log.events.length }), agent: "b" });
  return log;
}

const policies = (version: string): NewEvent => ({
  ...{ agent: null, operation: "policies.update", details: { ...exampleDetails("policies.update"), version } },
});
const of = (operation: Parameters<typeof exampleDetails>[0], details: JsonObject = {}): NewEvent => ({
  ...{ agent: "a", operation, details: { ...exampleDetails(operation), ...P1, ...details } },
});
const restore = (id: string, more: JsonObject = {}) =>
  of("checkpoint.restore", { checkpoint_id: id, safety_checkpoint_id: LATER, ...more });
const own = (operation: string, details: JsonObject, result: NewEvent["result"] = "ok"): NewEvent => ({
  ...{ agent: null, operation, result, details },
});
const nobody = { agent_id: "nobody", ...P1 };

async function said(events: readonly NewEvent[]) {
  const log = filled();
  for (const event of events) log.append(event);
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning" });
  verifier.add(log.events);
  const codes = verifier.finish().problems.map(({ code }) => code);
  if (!HAS_PYTHON) return [codes, codes.length > 0 ? 1 : 0];
  const path = directory.join("log.ndjson");
  writeFileSync(path, written("ndjson", await exportOf(log, "ndjson")));
  return [codes, (await second.run("--public-key", log.publicKey, path)).code];
}

test.each(["json", "ndjson"] as const)("a %s export that another key sealed is found without any key", async (form) => {
  const log = new SealedLog(key).grow(20);
  const other = newKey();
  const [whole, window] = [await exportOf(log, form), await exportOf(log, form, { start: "2026-01-01T00:00:08.000Z" })];
  for (const [made, code] of [
    [whole, 1],
    [window, 0],
  ] as const) {
    const seal = made.log.seal(undefined, other);
    const about = { ...made.about, seal, public_key: formatVerifierKey(verifierKey(log.origin, other.publicKey)) };
    const text = written(form, { about, events: made.events });
    const verifier = new ExportVerifier();
    verifier.push(Buffer.from(text));
    const report = verifier.finish();
    expect(made.events.length).toBeGreaterThan(5);
    expect(report.problems.map((problem) => problem.code)).toEqual(code === 1 ? ["seal_signature"] : []);
    if (!HAS_PYTHON) continue;
    const path = directory.join("sealed.txt");
    writeFileSync(path, text);
    expect((await second.run(path)).code).toBe(code);
  }
});

const CONFIG = { config_version: "v3", config_digest: "ab".repeat(32) };

test.each<[string, NewEvent[]]>([
  ["reads of what there is", [of("config.read", { version: "v2" }), of("config.read_version", { version: "v1" })]],
  ["reads of what there is not", [{ ...of("config.read_version", { version: "v3" }), result: "not_found" }]],
  ["a restore", [restore(FIRST), restore(LATER, { safety_checkpoint_id: typeId("cp", 10) })]],
  ["a restore with a config", [restore(FIRST, { ...CONFIG, rolled_back_from: "v1" })]],
  ["a deletion", [of("checkpoint.delete", { checkpoint_id: FIRST })]],
  [
    "a suspension and its end",
    [of("agent.suspend", { state_before: "active" }), of("agent.resume", { state_before: "suspended" })],
  ],
  [
    "policies again",
    [policies("p2"), { ...of("data.list"), details: { prefix: "", count: 0, policies_version: "p2" } }],
  ],
  [
    "what is about the workspace, or about an agent without events",
    [
      own("policies.list_versions", { count: 1 }),
      own("policies.read", { version: "p1" }),
      own("policies.read_version", { version: "p7" }, "not_found"),
      own("config.read", nobody, "not_found"),
      own("config.read_version", { ...nobody, version: "v1" }, "not_found"),
      own("agent.list", { redacted: true, count: 0, ...P1 }),
      own("policy.check", { allowed: true, under: "agent", ...P1 }),
      own("policy.replay", { under: "request", policies: [] }),
    ],
  ],
])("%s holds", async (_, events) => expect(await said(events)).toEqual([[], 0]));

test.each<[string, NewEvent[]]>([
  ["a restore of a checkpoint that never was", [restore(typeId("cp", 5))]],
  ["a restore of another agent's", [restore(OF_OTHER)]],
  ["a restore of one that was made later", [restore(LATER)]],
  ["a restore of one that was deleted", [of("checkpoint.delete", { checkpoint_id: FIRST }), restore(FIRST)]],
  ["a second deletion", [of("checkpoint.delete", { checkpoint_id: OF_OTHER })]],
  ["a second checkpoint of the same id", [of("checkpoint.create", { checkpoint_id: FIRST, as_of_seq: 6 })]],
  ["a checkpoint of another position", [of("checkpoint.create", { checkpoint_id: LATER, as_of_seq: 3 })]],
  ["a look into a checkpoint of another agent", [of("checkpoint.read", { checkpoint_id: OF_OTHER })]],
  ["a config that is not the next", [of("config.update", { version: "v4" })]],
  ["a rollback to a config that there is not", [of("config.rollback", { version: "v3", rolled_back_from: "v7" })]],
  [
    "a restore of a config that is not the next",
    [restore(FIRST, { ...CONFIG, config_version: "v9", rolled_back_from: "v1" })],
  ],
  ["a config that was invented", [{ ...of("data.list"), configVersion: "v7" }]],
  ["an older config", [{ ...of("data.list"), configVersion: "v1" }]],
  ["policies that were invented", [of("data.list", { policies_version: "p2" })]],
  ["older policies", [policies("p2"), of("data.list")]],
  ["policies left out", [{ ...of("data.list"), details: { prefix: "", count: 0 } }]],
  ["a read of an older config as the one in force", [of("config.read", { version: "v1" })]],
  ["a read of a config that there is not", [of("config.read_version", { version: "v3" })]],
  ["a config not found that there is", [{ ...of("config.read_version", { version: "v1" }), result: "not_found" }]],
  ["an agent that was not suspended", [of("agent.resume", { state_before: "suspended" })]],
])("%s is found", async (_, events) => expect(await said(events)).toEqual([["operation_impossible"], 1]));
