/**
 * Decides whether the policies that will be in force allow the entries that a restore brings back. The workspace's thread
 * decides about small ones itself. Large ones take long to screen, so another thread decides about them before.
 */

import { findVersion, readVersion, textBytes, type VersionContent } from "../../core/rows/entries.ts";
import { type Bar, barOfValue, underBar } from "../../core/writer/admission.ts";
import { isValid } from "../../core/writer/decided.ts";
import { OutOfDate } from "../../core/writer/job.ts";
import { isLargeText, LARGE_TEXT } from "../../core/writer/large-text.ts";
import type { Context } from "../../core/writer/operation.ts";
import {
  type Allowed,
  type Decision,
  decideAsItIs,
  type Refused,
  type Reported,
  reportedTogether,
} from "../../screen/decide.ts";
import { hasPatterns, type PolicySettings, refusesContent } from "../../screen/policies.ts";
import type { Reader } from "../../store/transaction.ts";
import { nextTurn } from "../../timer.ts";

export const ALLOWED: Allowed = { allowed: true };

/** A refusal by a policy. `key` names the entry; null when the refusal is about no entry, or about the key itself. */
export type RefusedEntry = Refused & { key: string | null };

/** Returns a refusal that is about no entry. */
export const refusedBy = (bar: Bar): RefusedEntry => ({ allowed: false, ...bar, findings: [], key: null });

/** Decisions about large entries, by the ids of their versions, and the policies under which they were made. */
export interface LargeEntries {
  policies: PolicySettings;
  decisions: [id: number, decision: Decision][];
}

/**
 * Decides about the large ones among these versions, or about all if there are patterns, whose work may be long even on
 * small texts; on a thread that others use meanwhile. Ends with a refusal.
 */
export async function decideAboutLargeEntries(
  reader: Reader,
  ids: readonly number[],
  policies: PolicySettings,
  nowMs: number,
): Promise<LargeEntries> {
  const decisions: LargeEntries["decisions"] = [];
  if (!refusesContent(policies)) return { policies, decisions };
  const least = hasPatterns(policies) ? 0 : LARGE_TEXT;
  for (const id of ids) {
    if ((await textBytes(reader, id)) < least) continue;
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
 * @param noConfig the reason to refuse all of them; null for none. Only a limit comes before it
 */
export async function decideAboutEntries(
  reader: Reader,
  context: Context,
  ids: readonly number[],
  policies: PolicySettings,
  noConfig: Bar | null,
  large?: LargeEntries,
): Promise<Allowed | RefusedEntry> {
  const { limits } = policies;
  // Most policies refuse no content, so that entries need not be read.
  const isRead = limits?.value_bytes !== undefined || (noConfig === null && refusesContent(policies));
  const decideOne = large === undefined ? decideHere : deciderOf(large);
  const found: Reported[] = [];
  for (const id of isRead ? ids : []) {
    await context.pause();
    const content = await readVersion(reader, id);
    const bar = limits && barOfValue(limits, content.value);
    if (bar === null && noConfig !== null) continue;
    const decision = underBar(bar, decideOne(policies, content, context.nowMs, id));
    if (!decision.allowed) return refusedEntry(content.key, decision);
    if (decision.found !== undefined) found.push(decision.found);
  }
  if (noConfig !== null) return refusedBy(noConfig);
  return found.length === 0 ? ALLOWED : { allowed: true, found: reportedTogether(found) };
}

type Decide = (policies: PolicySettings, content: VersionContent, nowMs: number, id: number) => Decision;

const decideHere: Decide = (policies, content, nowMs) => decideAsItIs(policies, content, nowMs);

/**
 * Returns a function that takes decisions about large entries from those that were made before. It throws
 * {@link OutOfDate} when one of them is not valid any more, or is missing.
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

/** Returns a refusal that is about an entry. A key that the policies refuse must not be repeated. */
function refusedEntry(key: string, refused: Refused): RefusedEntry {
  const message = `An entry of the checkpoint is refused by the policies that would be in force: ${refused.message} Nothing was restored.`;
  return { ...refused, message, key: refused.findings.some(({ field }) => field === "key") ? null : key };
}
