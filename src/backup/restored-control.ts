/** Corrects the control database of a restored directory by the logs, before and after the new epochs begin. */

import type { DataDirectory } from "../core/datadir/layout.ts";
import { listAccounts } from "../ops/accounts/accounts.ts";
import { revokeUnusedLinks } from "../ops/accounts/links.ts";
import { deleteAllSessions } from "../ops/accounts/sessions.ts";
import { settleActs } from "../ops/directory/acts.ts";
import { ControlDatabase } from "../ops/directory/database.ts";
import { fileJournal } from "../ops/directory/journal.ts";
import { findInstallation } from "../ops/directory/workspaces.ts";
import type { ControlLog } from "../verify/control/events.ts";
import { type PendingAct, pendingActs } from "../verify/control/stored.ts";
import { planReapplying, type ReapplyPlan, reapply } from "./reapply.ts";

/**
 * Migrates the control database, and plans its corrections by the logs. To be called before the new epochs begin, since
 * their events state the plan. Acts that were pending when the database was copied are settled after that.
 */
export async function planControl(target: DataDirectory, logs: readonly ControlLog[]) {
  using control = ControlDatabase.open(target);
  const journal = fileJournal(target);
  const finished: PendingAct[] = [];
  // A workspace whose creation was not finished in the copy is dropped with the act that created it.
  const dropped = new Set<string>();
  for (const act of pendingActs(control.connection)) {
    if (act === null) continue;
    if (await journal.find(act.workspaceId, act.event.id)) finished.push(act);
    else if (act.changes.some(([kind, input]) => kind === "addWorkspace" && input.id === act.workspaceId)) {
      dropped.add(act.workspaceId);
    }
  }
  const kept = logs.filter(({ workspaceId }) => !dropped.has(workspaceId));
  const plan = planReapplying(control.connection, kept, finished);
  return { plan, installation: findInstallation(control.connection)?.id ?? "" };
}

/**
 * Settles acts that were pending when the control database was copied, reapplies the logs, and ends all sessions and
 * unused links: those that ended or were used after the backup would otherwise be valid again.
 */
export async function finishControl(target: DataDirectory, plan: ReapplyPlan, nowMs: number) {
  using control = ControlDatabase.open(target);
  // An act on a workspace that the backup does not hold stays pending. The daemon reports it when it starts.
  await settleActs({ control, journal: fileJournal(target) }, () => {});
  return await control.change((connection) => {
    const accounts = listAccounts(connection).map(({ id, totpSince }) => ({ id, second_factor: totpSince !== null }));
    return {
      reapplied: reapply(connection, plan),
      ended_sessions: deleteAllSessions(connection),
      ended_links: revokeUnusedLinks(connection, nowMs),
      accounts: accounts.length,
      accounts_with_second_factor: accounts.filter((one) => one.second_factor).length,
      account_ids: accounts,
    };
  });
}
