/** The link for the first account, which a start prints. */
import { listUnusedLinks } from "../../core/rows/access/links.ts";
import { jsonOf, type Reply, systemPrincipal } from "../../core/writer/contract.ts";
import type { Job } from "../../core/writer/job.ts";
import type { WorkspaceWriter } from "../../core/writer/perform.ts";
import { SYSTEM } from "../../log/event.ts";
import type { Reader } from "../../store/transaction.ts";
import { sealNow } from "../directory/journal.ts";
import { endLink, makeLink } from "./operations/credential.ts";

/**
 * Makes a link for the first account, and ends those that earlier starts, of any node, have printed. Seals its events. Returns
 * the token.
 * @param onUnsealed called with the reason when they could not be sealed
 */
export async function startLink(
  writer: WorkspaceWriter,
  reader: Reader,
  onUnsealed: (reason: string) => void,
): Promise<string> {
  const principal = systemPrincipal(writer.workspaceId);
  const job = (operation: "account.link" | "account.unlink", run: Job["run"]): Job => ({ operation, principal, run });
  const printed = (await listUnusedLinks(reader)).filter(({ createdBy }) => createdBy === SYSTEM);
  const replies = await writer.perform([
    ...printed.map(({ id: linkId }) => job("account.unlink", (tx, context) => endLink(tx, context, { linkId }))),
    job("account.link", (tx, context) => makeLink(tx, context, { kind: "setup" })),
  ]);
  const { token } = jsonOf<{ token: string }>((replies.at(-1) as Reply).answer);
  const reason = await sealNow(writer);
  if (reason !== null) onUnsealed(reason);
  return token;
}
