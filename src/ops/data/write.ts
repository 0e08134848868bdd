/** Writes an entry, or a version of it again, unless limits or policies refuse it. */

import type { AgentState } from "../../core/rows/agents.ts";
import { readVersion } from "../../core/rows/entries.ts";
import { findReadable, findWrite, readableHistory } from "../../core/rows/versions.ts";
import { admit, underBar } from "../../core/writer/admission.ts";
import { type Decided, reportedOf, Screening } from "../../core/writer/decided.ts";
import {
  answered,
  type Context,
  type Look,
  type LookContext,
  type Outcome,
  type Run,
  refused,
} from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { valueDigest } from "../../log/hash.ts";
import { canonicalJson } from "../../log/jcs.ts";
import type { OperationInputs } from "../../operations.ts";
import { invalid } from "../../problem.ts";
import { type Allowed, decide, type Refused, type Reported } from "../../screen/decide.ts";
import type { PolicySettings } from "../../screen/policies.ts";
import { after, type Reader } from "../../store/transaction.ts";
import { conflictOver } from "./conflict.ts";
import { noVersion } from "./missing.ts";

const STORED = "Stored.";
const REDACTED = "Stored, with what the policies do not allow replaced.";
const VERSION_SET_ASIDE =
  "The version is set aside, so that its content is not written again. Release it with DELETE /v1/quarantine first.";
const REPORTED = "Stored. The policies report what they found.";

type Input = OperationInputs["data.write"];
type Revert = Extract<Input, { revertTo: string }>;
/** What is written. `revertedFrom`: the version whose content it is. */
type Write = Exclude<Input, Revert> & { revertedFrom?: string };

const screening = new Screening<"data.write", Write>(decide);

const isRevert = (input: Input): input is Revert => "revertTo" in input;

/** Decides about a content before the transaction. That of a version is read in it. */
const look: Look<"data.write", Decided | undefined> = Object.assign(
  async (reader: Reader, context: LookContext, input: Input) =>
    isRevert(input) ? undefined : screening.look(reader, context, input),
  {
    under: (policies: PolicySettings, input: Input, nowMs: number) =>
      isRevert(input) ? undefined : screening.look.under?.(policies, input, nowMs),
  },
);

/** Returns when the entry expires, ms; null for never. @throws {Problem} when that time is past */
function expiryOf({ expiry }: Write, nowMs: number): number | null {
  if (expiry === undefined) return null;
  if ("afterMs" in expiry) return nowMs + expiry.afterMs;
  if (expiry.atMs > nowMs) return expiry.atMs;
  throw invalid("The time in expires_at is not in the future. Send a later one, or leave it out.", "expires_at");
}

export const writeData: Run<"data.write", Decided> = (reader, context, input, found) =>
  after(context.agents.find(input.agentId), (known) => {
    const write = () =>
      isRevert(input) ? reverted(reader, context, input, known) : admitted(reader, context, input, known, found);
    const { condition } = input;
    if (condition === undefined) return write();
    return conflictOver(reader, context, known, { ...input, condition }).then((refusal) => refusal ?? write());
  });

/** Writes the content of a version again, which then does not end by itself. */
async function reverted(reader: Reader, context: Context, input: Revert, agent: AgentState | null): Promise<Outcome> {
  const { agentId, key, revertTo } = input;
  const writtenSeq = agent === null ? null : await findWrite(reader, agent, key, revertTo);
  if (agent === null || writtenSeq === null) return noVersion(context, agent, input, "version_not_found");
  const { nowMs } = context;
  const readable = await readableHistory(reader, agent, nowMs);
  const found = await findReadable(reader, agent, key, writtenSeq, { readable, nowMs });
  if (found === undefined)
    return noVersion(context, agent, input, "version_gone", { kept_since: showTime(readable.sinceMs) });
  if (found.isSetAside)
    return refused(agent, "conflict", { key }, { code: "version_quarantined", detail: VERSION_SET_ASIDE });
  const { value, metadata } = await readVersion(reader, found.id);
  return admitted(reader, context, { agentId, key, value, metadata, revertedFrom: revertTo }, agent);
}

/** Writes unless limits or policies refuse it. `known`: null when this is the agent's first event. */
function admitted(reader: Reader, context: Context, input: Write, known: AgentState | null, found?: Decided) {
  const expiresAtMs = expiryOf(input, context.nowMs);
  const admission = admit(reader, known ?? context.agents.fresh(input.agentId, context.seq), input, context);
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
  if (input.revertedFrom !== undefined) details.reverted_from = input.revertedFrom;
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

export const writeOperation = { look, run: writeData };
