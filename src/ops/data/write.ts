/** Writes an entry. Work that needs only the input and the agent's policies is done before the transaction. */

import { type AgentState, readPolicies } from "../../core/rows/agents.ts";
import { admit, underBar } from "../../core/writer/admission.ts";
import { type Decided, decidedElsewhere, reportedOf, stillHolds } from "../../core/writer/decided.ts";
import {
  answered,
  type Context,
  type Operation,
  type PrepareContext,
  type PreparedOperation,
} from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { valueDigest } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import type { OperationInputs } from "../../operations.ts";
import { invalid } from "../../problem.ts";
import { ALLOWED, type Allowed, decide, type Refused, type Reported } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import { after, type Reader } from "../../store/transaction.ts";
import { conflictOver } from "./conflict.ts";

const STORED = "Stored.";
const REDACTED = "Stored, with what the policies do not allow replaced.";
const REPORTED = "Stored. The policies report what they found.";

type Write = OperationInputs["data.write"];

/** The digest of a content, and its salt. */
interface Digested {
  digest: string;
  salt: string;
}

/** A write that was screened and serialized under some policies. */
interface ScreenedWrite extends Decided {
  /** The JSON texts, and their digest with the key; absent when the write is blocked. */
  content?: Digested & { value: string; metadata: string };
}

/** A decision of another thread. With `digested`, the writer need not hash what is stored. */
export type WriteFound = Decided & { digested?: Digested };

type NewSalt = Context["newSalt"];

/**
 * Screens a write before the transaction, under the agent's cached policies, unless `found` has the decision of
 * {@link screenAhead}. Returns undefined when the policies are not cached. Screening a whole group at once keeps the
 * screening tables in the processor's cache; the database would evict them between one write and the next.
 */
function prepareWrite({ agents, newSalt }: PrepareContext, input: Write, found?: JsonValue): ScreenedWrite | undefined {
  if (found !== undefined) {
    const { digested, ...decided } = found as unknown as WriteFound;
    return serialized(input, decided, newSalt, digested);
  }
  const policies = agents.known(input.agentId)?.policies;
  return policies && serialized(input, { policies, decision: decide(policies, input) }, newSalt);
}

/** Returns the digest of what a write stores if the policies find nothing in it; null otherwise. */
export function digestIfClean(
  policies: PolicySettings,
  input: Write,
  { nowMs, newSalt }: Pick<Context, "nowMs" | "newSalt">,
): Digested | null {
  const { decision, content } = serialized(input, { policies, decision: decide(policies, input, nowMs) }, newSalt);
  return decision === ALLOWED && content !== undefined ? { digest: content.digest, salt: content.salt } : null;
}

/** Screens a write on another thread, under the agent's present policies. */
async function screenAhead(reader: Reader, input: Write, { nowMs }: { nowMs: number }): Promise<JsonValue> {
  const policies = await readPolicies(reader, input.agentId);
  return decidedElsewhere(policies, decide(policies, input, nowMs));
}

/** @param known the digest, if it is known already */
function serialized(input: Write, decided: Decided, newSalt: NewSalt, known?: Digested): ScreenedWrite {
  const { decision } = decided;
  if (!decision.allowed) return decided;
  const stored = decision.found?.redacted ?? input;
  const metadata = canonicalJson(stored.metadata);
  const value = JSON.stringify(stored.value);
  const salt = known?.salt ?? newSalt();
  const digest = known?.digest ?? valueDigest(salt, input.key, metadata, value);
  return { ...decided, content: { value, metadata, digest, salt } };
}

/** Returns when the entry expires, ms; null for never. @throws {Problem} when that time is past */
function expiryOf({ expiry }: Write, nowMs: number): number | null {
  if (expiry === undefined) return null;
  if ("afterMs" in expiry) return nowMs + expiry.afterMs;
  if (expiry.atMs > nowMs) return expiry.atMs;
  throw invalid("The time in expires_at is not in the future. Send a later one, or leave it out.", "expires_at");
}

export const writeData: Operation<"data.write", ScreenedWrite> = (reader, context, input, ahead) =>
  after(context.agents.find(input.agentId), (known) => {
    const { condition } = input;
    if (condition === undefined) return admitted(reader, context, input, known, ahead);
    return conflictOver(reader, context, known, { ...input, condition }).then(
      (refusal) => refusal ?? admitted(reader, context, input, known, ahead),
    );
  });

/** Writes unless limits or policies refuse it. `known`: null when this is the agent's first event. */
function admitted(reader: Reader, context: Context, input: Write, known: AgentState | null, ahead?: ScreenedWrite) {
  const expiresAtMs = expiryOf(input, context.nowMs);
  const admission = admit(reader, known ?? context.agents.fresh(input.agentId, context.seq), input, context.nowMs);
  return after(admission, ({ agent, bar }) => {
    const { policies } = agent;
    const screened = stillHolds(ahead, policies, context.nowMs)
      ? ahead
      : serialized(input, { policies, decision: decide(policies, input, context.nowMs) }, context.newSalt);
    const decision = underBar(bar, screened.decision);
    if (!decision.allowed) return blocked(agent, input.key, decision);
    return stored(context, agent, input, { ...screened, decision, expiresAtMs });
  });
}

function stored(
  { auditId }: Context,
  agent: AgentState,
  { key }: Write,
  {
    decision,
    content,
    expiresAtMs,
  }: Pick<ScreenedWrite, "content"> & { decision: Allowed; expiresAtMs: number | null },
) {
  const { value, metadata, digest, salt } = content as NonNullable<ScreenedWrite["content"]>;
  const { found } = decision;
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

export const writeOperation: PreparedOperation<"data.write", ScreenedWrite> = {
  prepare: prepareWrite,
  ahead: screenAhead,
  run: writeData,
};
