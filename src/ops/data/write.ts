/** Writes an entry, unless limits or policies refuse it. */

import type { AgentState } from "../../core/rows/agents.ts";
import { admit, underBar } from "../../core/writer/admission.ts";
import { type Decided, reportedOf, Screening } from "../../core/writer/decided.ts";
import { answered, type Context, type Run } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { valueDigest } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import type { OperationInputs } from "../../operations.ts";
import { invalid } from "../../problem.ts";
import { type Allowed, decide, type Refused, type Reported } from "../../screen/decide.ts";
import { after, type Reader } from "../../store/transaction.ts";
import { conflictOver } from "./conflict.ts";

const STORED = "Stored.";
const REDACTED = "Stored, with what the policies do not allow replaced.";
const REPORTED = "Stored. The policies report what they found.";

type Write = OperationInputs["data.write"];

const screening = new Screening<"data.write", Write>(decide);

/** Returns when the entry expires, ms; null for never. @throws {Problem} when that time is past */
function expiryOf({ expiry }: Write, nowMs: number): number | null {
  if (expiry === undefined) return null;
  if ("afterMs" in expiry) return nowMs + expiry.afterMs;
  if (expiry.atMs > nowMs) return expiry.atMs;
  throw invalid("The time in expires_at is not in the future. Send a later one, or leave it out.", "expires_at");
}

export const writeData: Run<"data.write", Decided> = (reader, context, input, found) =>
  after(context.agents.find(input.agentId), (known) => {
    const { condition } = input;
    if (condition === undefined) return admitted(reader, context, input, known, found);
    return conflictOver(reader, context, known, { ...input, condition }).then(
      (refusal) => refusal ?? admitted(reader, context, input, known, found),
    );
  });

/** Writes unless limits or policies refuse it. `known`: null when this is the agent's first event. */
function admitted(reader: Reader, context: Context, input: Write, known: AgentState | null, found?: Decided) {
  const expiresAtMs = expiryOf(input, context.nowMs);
  const admission = admit(reader, known ?? context.agents.fresh(input.agentId, context.seq), input, context.nowMs);
  return after(admission, ({ agent, bar }) => {
    const decision = underBar(bar, screening.decide(input, agent.policies, context.nowMs, found));
    return decision.allowed
      ? stored(context, agent, input, decision, expiresAtMs)
      : blocked(agent, input.key, decision);
  });
}

function stored(
  { auditId, newSalt }: Context,
  agent: AgentState,
  input: Write,
  decision: Allowed,
  expiresAtMs: number | null,
) {
  const { key } = input;
  const { found } = decision;
  const content = found?.redacted ?? input;
  const metadata = canonicalJson(content.metadata);
  const value = JSON.stringify(content.value);
  const salt = newSalt();
  const digest = valueDigest(salt, key, metadata, value);
  const details: JsonObject = { key, value_digest: digest };
  if (expiresAtMs !== null) details.expires_at = showTime(expiresAtMs);
  if (found !== undefined) Object.assign(details, reportedOf(decision));
  const rest = found === undefined ? `"message":"${STORED}"` : JSON.stringify(answerOf(found)).slice(1, -1);
  const effect = { kind: "put", key, digest, value, metadata, salt, expiresAtMs } as const;
  return answered(agent, details, `{"allowed":true,"audit_id":"${auditId}",${rest}}`, {
    result: "allowed",
    etag: auditId,
    effect,
  });
}

function blocked(agent: AgentState, key: string, { blockedBy, message, findings: found, ...rest }: Refused) {
  const findings = found as unknown as JsonObject[];
  const wait = rest.retryAfterSeconds === undefined ? {} : { retry_after_seconds: rest.retryAfterSeconds };
  const body = { allowed: false, blocked_by: blockedBy, message, findings, ...wait };
  // There is no digest, which could reveal a finding, and no key if a policy refuses the key.
  const named = found.some(({ field }) => field === "key") ? {} : { key };
  const { limit, excepted } = rest;
  const details = { ...named, findings, ...(limit && { limit }), ...wait, ...(excepted && { excepted }) };
  return answered(agent, details, JSON.stringify(body), { result: "blocked", blockedBy });
}

/** Returns the members of the answer about findings in a stored write. An exception is not a finding. */
function answerOf({ findings, redacted }: Reported): object {
  if (redacted !== undefined) return { message: REDACTED, redacted: true, findings };
  return findings.length === 0 ? { message: STORED } : { message: REPORTED, findings };
}

export const writeOperation = { look: screening.look, run: writeData };
