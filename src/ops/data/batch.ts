/** Several reads, writes and deletions of an agent's data in one request. */

import { textOfItems } from "../../core/long-text.ts";
import { readPolicies } from "../../core/rows/agents.ts";
import { findEntry } from "../../core/rows/entries.ts";
import { LARGE_TEXT, screenedCharacters } from "../../core/writer/large-text.ts";
import { answered, type Composite, type Operation, type Outcome } from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { ALLOWED, recorded } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import { endOf } from "../../screen/retention.ts";
import { after } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { deleteData, noEntry } from "./operations.ts";
import { digestIfClean, type WriteFound, writeOperation } from "./write.ts";

const readInBatch: Operation<"data.read"> = async (reader, context, { agentId, key }) => {
  const agent = await context.agents.find(agentId);
  const entry = agent === null ? undefined : await findEntry(reader, context, agent, key);
  if (agent === null || entry === undefined) {
    return answering(noEntry(context, agent, agentId, key), `{"found":false,"key":${JSON.stringify(key)}}`);
  }
  const body =
    `{"found":true,"key":${JSON.stringify(key)},"value":${entry.value},"metadata":${entry.metadata},` +
    `"audit_id":"${entry.version}","created_at":"${showTime(entry.createdAt)}","updated_at":"${showTime(entry.updatedAt)}",` +
    `"expires_at":${JSON.stringify(showTimeOrNull(endOf(agent.policies, entry)))}}`;
  return answered(agent, recorded("key", key, agent.policies), body);
};

const deleteInBatch: Operation<"data.delete"> = async (reader, context, input) => {
  const outcome = await deleteData(reader, context, input);
  const none = `{"deleted":0,"audit_id":"${context.auditId}"}`;
  return outcome.result === "not_found" ? answering(outcome, none) : showingConflict(outcome);
};

const writeInBatch: typeof writeOperation.run = (reader, context, input, prepared) =>
  after(writeOperation.run(reader, context, input, prepared), showingConflict);

/** Converts a conflict of an operation into a result within the batch. */
function showingConflict(outcome: Outcome): Outcome {
  const { answer, result } = outcome;
  if (result !== "conflict" || answer.kind !== "problem") return outcome;
  return answering(outcome, JSON.stringify({ conflict: true, ...answer.extra }));
}

const answering = (outcome: Outcome, body: string): Outcome => ({
  ...outcome,
  answer: { kind: "json", status: 200, body },
});

/** The writes of a batch in which nothing was found. */
interface CleanWrites {
  /** The policies under which they were screened. */
  policies: PolicySettings;
  /** For each operation, the digest of what it stores; null if it is no such write. */
  digests: ReturnType<typeof digestIfClean>[];
}

const findCleanWrites: Composite<"data.batch">["ahead"] = async (reader, { agentId, parts }, context) => {
  const policies = await readPolicies(reader, agentId);
  // The patterns of a policy may take seconds for many small texts, and the large texts of others would wait.
  if (policies.screening?.patterns !== undefined) return [];
  const digests: CleanWrites["digests"] = [];
  let characters = 0;
  for (const { name, input } of parts) {
    const isWrite = name === "data.write";
    digests.push(isWrite ? digestIfClean(policies, input, context) : null);
    if (isWrite) characters += screenedCharacters(input);
    if (characters < LARGE_TEXT) continue;
    await nextTurn();
    characters = 0;
  }
  return { policies, digests } satisfies CleanWrites as unknown as JsonObject;
};

/** Returns the decisions about clean writes. The workspace's thread screens the other writes. */
const decisionsOf: Composite<"data.batch">["foundOf"] = (clean) => {
  const { policies, digests } = clean as unknown as CleanWrites;
  return digests.map((digested) =>
    digested === null
      ? undefined
      : ({ policies, decision: ALLOWED, digested } satisfies WriteFound as unknown as JsonObject),
  );
};

const SKIPPED = '{"skipped":true}';

export const batchData: Composite<"data.batch"> = {
  parts: {
    "data.write": { ...writeOperation, run: writeInBatch },
    "data.read": readInBatch,
    "data.delete": deleteInBatch,
  },
  ahead: findCleanWrites,
  foundOf: decisionsOf,
  nameOf: (index) => `operations[${index}]`,
  answer: (results, applied) =>
    textOfItems(
      `{"applied":${applied},"results":[`,
      results.map((result) => result ?? SKIPPED),
      "]}",
    ),
};
