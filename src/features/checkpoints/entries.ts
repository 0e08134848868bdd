/**
 * Decides whether the policies that will be in force allow the entries that a restore brings back. The workspace's thread
 * decides about small ones itself. Large ones take long to screen, so another thread decides about them before.
 */
import {
  type Allowed,
  type Decision,
  decideAsItIs,
  type Refused,
  type Reported,
  reportedTogether,
} from "../../policy/decide.ts";
import { type PolicySettings, refusesContent } from "../../policy/policies.ts";
import { findVersion, readVersion, textBytes, type VersionContent } from "../../state/entries.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";
import { barOfValue } from "../../workspace/admission.ts";
import { isLargeText, isValid, LARGE_TEXT, OutOfDate } from "../../workspace/decided.ts";
import type { Context } from "../../workspace/operation.ts";

export const ALLOWED: Allowed = { allowed: true };

/** A refusal by a policy. `key` names the entry; null when the refusal is about no entry, or about the key itself. */
export type RefusedEntry = Refused & { key: string | null };

/** Decisions about large entries, by the ids of their versions, and the policies under which they were made. */
export interface LargeEntries {
  policies: PolicySettings;
  decisions: [id: number, decision: Decision][];
}

/** Decides about the large ones among these versions, on a thread that others use meanwhile. Ends with a refusal. */
export async function decideAboutLargeEntries(
  reader: Reader,
  ids: readonly number[],
  policies: PolicySettings,
  nowMs: number,
): Promise<LargeEntries> {
  const decisions: LargeEntries["decisions"] = [];
  if (!refusesContent(policies)) return { policies, decisions };
  for (const id of ids) {
    if ((await textBytes(reader, id)) < LARGE_TEXT) continue;
    await nextTurn();
    const content = await findVersion(reader, id);
    if (content === undefined) continue;
    const decision = decideAsItIs(policies, content, nowMs);
    decisions.push([id, decision]);
    if (!decision.allowed) break;
  }
  return { policies, decisions };
}

/**
 * Returns the decision about the first of these versions that the policies refuse, or the findings in all of them. The id
 * of a version that a checkpoint sees is never given to another, so that decisions in `large` are about these versions.
 */
export async function decideAboutEntries(
  reader: Reader,
  context: Context,
  ids: readonly number[],
  policies: PolicySettings,
  large?: LargeEntries,
): Promise<Allowed | RefusedEntry> {
  const { limits } = policies;
  // Most policies refuse no content, so that entries need not be read.
  if (!refusesContent(policies) && limits?.value_bytes === undefined) return ALLOWED;
  const decideOne = large === undefined ? decideHere : deciderOf(large);
  const found: Reported[] = [];
  for (const id of ids) {
    await context.pause();
    const content = await readVersion(reader, id);
    const bar = limits && barOfValue(limits, content.value);
    if (bar !== null) return { allowed: false, ...bar, findings: [], key: content.key };
    const decision = decideOne(policies, content, context.nowMs, id);
    if (!decision.allowed) return { ...decision, key: isAboutKey(decision) ? null : content.key };
    if (decision.found !== undefined) found.push(decision.found);
  }
  return found.length === 0 ? ALLOWED : { allowed: true, found: reportedTogether(found) };
}

type Decide = (policies: PolicySettings, content: VersionContent, nowMs: number, id: number) => Decision;

const decideHere: Decide = (policies, content, nowMs) => decideAsItIs(policies, content, nowMs);

/**
 * Returns what takes the decisions about large entries from these.
 * @throws {OutOfDate} (the result) when one of them is not valid any more, or is missing
 */
function deciderOf({ policies: before, decisions }: LargeEntries): Decide {
  const ahead = new Map(decisions);
  return (policies, content, nowMs, id) => {
    const decision = ahead.get(id);
    if (decision === undefined && !(refusesContent(policies) && isLargeText(content)))
      return decideHere(policies, content, nowMs, id);
    if (decision === undefined || !isValid({ policies: before, decision }, policies, nowMs)) throw new OutOfDate();
    return decision;
  };
}

/** Reports whether the policies refuse the key itself, which must then not be repeated. */
const isAboutKey = ({ findings }: Refused): boolean => findings.some(({ field }) => field === "key");
