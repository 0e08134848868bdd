/**
 * Events that no governd records, in logs whose hashes, chains and seals are right, as somebody makes them who holds the
 * sealing key. They are made from the rows of `operations.ts`: for each operation, result and form of its details, each
 * member left out, of another type, and an unknown one; each actor, result and chain that it never has. Both programs
 * accept the event as it is, and find each of the others. As a rule, the second program judges some of them; with
 * GOVERND_TEST_LONG=1 it judges all.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { DetailsForm } from "../../src/details.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import type { AuditResult } from "../../src/log/event.ts";
import { EVENT_NAMES, type EventName, eventFacts } from "../../src/operations.ts";
import { LogVerifier } from "../../src/verify/events/log-verifier.ts";
import { effort } from "../effort.ts";
import { exportOf, written } from "../log/exported.ts";
import { type NewEvent, typeId } from "../log/sample.ts";
import { newKey, SealedLog } from "../log/sealed.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { exampleDetails, formsOf } from "../support/event-examples.ts";
import { temporaryDirectory } from "../temporary.ts";
import { expectRight, Judge } from "./judge.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const SECOND_LOOKS_AT = effort({ usual: 40, long: 1 });
const LEAST = 2_000;
const directory = temporaryDirectory();
const judge = new Judge(directory.path);
afterAll(async () => {
  await judge[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const key = newKey();
const ACTORS = { k: typeId("key", 7), u: typeId("usr", 1), l: typeId("wid", 1), c: "cli", s: "system" } as const;
const RESULTS: readonly AuditResult[] = ["ok", "allowed", "blocked", "not_found", "conflict", "denied"];
const CHECKPOINT = typeId("cp", 2);

/** A log with an agent that has a config and a checkpoint, another one that has neither, and policies. */
class Log extends SealedLog {
  constructor(readonly ofInstallation: boolean) {
    super(key);
    if (ofInstallation) {
      this.events.length = 0;
      this.heads.clear();
      const details = { ...exampleDetails("workspace.create"), signing_key: key.fingerprint, origin: this.origin };
      this.append({ agent: null, operation: "workspace.create", actor: "system", details });
      return;
    }
    this.write("b", "k", "v");
    this.configure("a", "v1", {});
    const checkpoint = { checkpoint_id: CHECKPOINT, as_of_seq: this.events.length };
    this.append({
      agent: "a",
      operation: "checkpoint.create",
      details: { ...exampleDetails("checkpoint.create"), ...checkpoint },
    });
  }
}

/** What an honest event states of the log that {@link Log} makes, beside the example of its form. */
function adapted(operation: EventName, result: AuditResult, details: JsonObject, seq: number): JsonObject {
  const facts = eventFacts(operation);
  const all = { ...details };
  if ("checkpoint_id" in all && result !== "not_found") all.checkpoint_id = CHECKPOINT;
  if ("to" in all) all.to = CHECKPOINT;
  if (facts?.effect === "add_checkpoint" && result === "ok")
    Object.assign(all, { checkpoint_id: typeId("cp", 3), as_of_seq: seq });
  if ("safety_checkpoint_id" in all) all.safety_checkpoint_id = typeId("cp", 3);
  if (facts?.effect === "add_config" && result === "ok" && operation !== "policies.update") all.version = "v2";
  if ("config_version" in all) all.config_version = "v2";
  if (operation.startsWith("policies.read") && "version" in all)
    all.version = operation === "policies.read" ? null : all.version;
  if ("state_before" in all) all.state_before = "active";
  if ("erased" in all) Object.assign(all, { events: 0, erased: [] });
  return all;
}

interface Made {
  event: NewEvent;
  ofInstallation: boolean;
}

/** Returns an honest event of a form; null when it needs what the log does not have. */
function honest(operation: EventName, result: AuditResult, form: DetailsForm): Made | null {
  const { chain, actors = eventFacts(operation)?.actors ?? "k" } = form;
  if (SPECIAL.has(`${operation} ${result}`)) return null;
  const ofInstallation = chain === "installation";
  const agent =
    chain === "agent" || chain === "agent or none"
      ? operation === "config.read" && result === "not_found"
        ? "b"
        : "a"
      : null;
  const members = exampleDetails(operation, (one) => one === form, result);
  const details = adapted(operation, result, members, new Log(ofInstallation).events.length);
  const actor = ACTORS[actors[0] as keyof typeof ACTORS];
  return {
    ofInstallation,
    event: {
      ...{ agent, operation, result, details, actor },
      ...(result === "blocked" && { blockedBy: "policy:block_pii" }),
    },
  };
}

/** Other checks need more of these: keys, epochs, prunings, vocabularies, and an event of the export itself. */
const SPECIAL: ReadonlySet<string> = new Set([
  "workspace.create ok",
  "seal.rotate_key ok",
  "log.restore ok",
  "log.vocabulary ok",
  "audit.prune ok",
  "policies.read_version ok",
]);

/** Values of which one has another type than any member. */
const OTHERS: readonly JsonValue[] = [{ "": 1 }, 7.5, "another", [[{}]]];

/** Returns what somebody could record instead of an honest event. */
function* forged({ event, ofInstallation }: Made, form: DetailsForm): Generator<[what: string, Made]> {
  const { operation, result = "ok", details = {} } = event;
  const name = operation as EventName;
  const facts = eventFacts(name);
  const as = (change: Partial<NewEvent>, installation = ofInstallation): Made => ({
    event: { ...event, ...change },
    ofInstallation: installation,
  });
  const said = (change: JsonObject) => as({ details: { ...details, ...change } });
  for (const [member, { presence, fits }] of Object.entries(form.members)) {
    const { [member]: _, ...rest } = details;
    if (presence === undefined || presence === "unless_redacted") yield [`without ${member}`, as({ details: rest })];
    const other = OTHERS.find((one) => !fits(one)) as JsonValue;
    yield [`${member} of another type`, said({ [member]: other })];
  }
  yield ["with an unknown member", said({ unknown: 1 })];
  yield ["with a workload's identity", said({ workload: { issuer: "i", subject: "s" } })];
  yield ["with a session that has a space", said({ session: "a b" })];
  yield ["on nobody's behalf", said({ on_behalf_of: [{ iss: null, sub: "a" }] })];
  yield ["with policies that there are not", said({ policies_version: "p1" })];
  if (event.agent !== null) yield ["with a config that there is not", as({ configVersion: "v9" })];
  for (const [kind, other] of Object.entries(ACTORS)) {
    const mayBe = formsOf(name, result).some(({ actors = facts?.actors ?? "" }) => actors.includes(kind));
    if (!mayBe || kind === "l") yield [`by ${kind}`, as({ actor: other })];
  }
  for (const other of RESULTS) {
    const blockedBy = other === "blocked" ? { blockedBy: "policy:block_pii" } : {};
    const { blockedBy: __, ...unblocked } = event;
    if (facts?.details[other] === undefined) {
      yield [`with the result ${other}`, { event: { ...unblocked, ...blockedBy, result: other }, ofInstallation }];
    }
  }
  const { blockedBy: ___, ...unblocked } = event;
  yield result === "blocked"
    ? ["blocked by nothing", { event: unblocked, ofInstallation }]
    : ["blocked by a policy", as({ blockedBy: "policy:block_pii" })];
  const chains = formsOf(name, result).map(({ chain }) => chain);
  const isOfAgents = chains.some((chain) => chain.startsWith("agent"));
  if (!isOfAgents) yield ["in an agent's chain", as({ agent: "a" })];
  if (isOfAgents && chains.every((chain) => chain.startsWith("agent"))) yield ["in the own chain", as({ agent: null })];
  if (!chains.includes("installation") && chains.every((chain) => chain === "workspace")) {
    yield ["in the log of the installation", as({}, true)];
  }
  if (chains.every((chain) => chain === "installation")) yield ["in a workspace's log", as({}, false)];
}

let forgeries = 0;

/** Returns what is wrong with the verdicts on a log that ends with an event. `both`: on its export, by both programs. */
async function judged({ event, ofInstallation }: Made, what: string, exit: 0 | 1, both: boolean): Promise<unknown> {
  const log = new Log(ofInstallation);
  log.append(event);
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning" });
  verifier.add(log.events);
  const { problems } = verifier.finish();
  if ((problems.length === 0) !== (exit === 0)) return [what, problems];
  if (!both) return null;
  const path = directory.join("log.ndjson");
  writeFileSync(path, written("ndjson", await exportOf(log, "ndjson")));
  const [ours, theirs] = await judge.exits(path, { keys: [log.publicKey] });
  return [ours, theirs ?? ours].every(({ code }) => code === exit) ? null : [what, ours, theirs];
}

for (const operation of EVENT_NAMES) {
  test(operation, async () => {
    const wrong: unknown[] = [];
    for (const result of RESULTS) {
      for (const [index, form] of formsOf(operation, result).entries()) {
        const made = honest(operation, result, form);
        if (made === null) continue;
        const to = `${operation} ${result} ${index}`;
        wrong.push(await judged(made, `${to} honest`, 0, true));
        for (const [what, other] of forged(made, form)) {
          wrong.push(await judged(other, `${to} ${what}`, 1, forgeries++ % SECOND_LOOKS_AT === 0));
        }
      }
    }
    expectRight(wrong);
  });
}

test(`at least ${LEAST} events were forged`, () => {
  expect(forgeries).toBeGreaterThan(LEAST);
});
