/** Several reads, writes and deletions of an agent's data in one request. */

import { textOfItems } from "../../core/long-text.ts";
import { findEntry, markOf } from "../../core/rows/entries.ts";
import { answered, type Composite, type Outcome, type Run } from "../../core/writer/operation.ts";
import { showTime, showTimeOrNull } from "../../ids.ts";
import { endOf } from "../../screen/retention.ts";
import { after } from "../../store/transaction.ts";
import { noPresent } from "./missing.ts";
import { deleteData } from "./operations.ts";
import { returning } from "./read.ts";
import { writeOperation } from "./write.ts";

const readInBatch: Run<"data.read"> = async (reader, context, input) => {
  const { agentId, key } = input;
  const agent = await context.agents.find(agentId);
  const entry = agent === null ? undefined : await findEntry(reader, context, agent, key);
  if (agent === null || entry === undefined) {
    const missing = await noPresent(reader, context, agent, input);
    const isSetAside = missing.answer.extra?.quarantined === true;
    return answering(missing, `{"found":false,"key":${JSON.stringify(key)}${markOf({ isSetAside })}}`);
  }
  const body =
    `{"found":true,"key":${JSON.stringify(key)},"value":${entry.value},"metadata":${entry.metadata},` +
    `"audit_id":"${entry.version}","created_at":"${showTime(entry.createdAt)}","updated_at":"${showTime(entry.updatedAt)}",` +
    `"expires_at":${JSON.stringify(showTimeOrNull(endOf(agent.policies, entry)))}${markOf(entry)}}`;
  return answered(agent, returning(agent, key, entry), body);
};

const deleteInBatch: Run<"data.delete"> = async (reader, context, input) => {
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

const SKIPPED = '{"skipped":true}';

export const batchData: Composite<"data.batch"> = {
  parts: {
    "data.write": { ...writeOperation, run: writeInBatch },
    "data.read": { run: readInBatch },
    "data.delete": { run: deleteInBatch },
  },
  nameOf: (index) => `operations[${index}]`,
  answer: (results, applied) =>
    textOfItems(
      `{"applied":${applied},"results":[`,
      results.map((result) => result ?? SKIPPED),
      "]}",
    ),
};
