/** Changes of accounts, keys, members and invitations by the command line, beside a running daemon or without one. */
import { sealKeySource } from "../core/datadir/seal-key.ts";
import type { Reply } from "../core/writer/contract.ts";
import type { Job } from "../core/writer/job.ts";
import type { Run } from "../core/writer/operation.ts";
import type { OperationInputs } from "../operations.ts";
import { accountOperations } from "../ops/accounts/operations.ts";
import type { AccessChange } from "../ops/accounts/parts.ts";
import { Installation } from "../ops/directory/installation.ts";
import { withWriter } from "../ops/directory/journal.ts";
import { keyOperations } from "../ops/keys/operations.ts";
import { memberOperations } from "../ops/members/operations.ts";
import { workloadOperations } from "../ops/workloads/operations.ts";
import { dataDirectoryOf, performSealed, requireLog } from "./data-directory.ts";
import type { Session } from "./session.ts";

/** A registry of all operations would load screening, which these commands start without. */
const OPERATIONS = { ...accountOperations, ...keyOperations, ...memberOperations, ...workloadOperations };

/** Performs an operation in a workspace, or in the log of the installation. A running daemon forgets what it has cached. */
export async function changeAccess<N extends AccessChange>(
  session: Session,
  options: object,
  workspaceId: string,
  name: N,
  input: OperationInputs[N],
): Promise<Reply | undefined> {
  const { settings, directory } = dataDirectoryOf(options);
  const key = sealKeySource(directory, settings.seal_key);
  using installation = await Installation.open(directory);
  await requireLog(installation, workspaceId);
  const run: Job["run"] = (reader, context) => (OPERATIONS[name].run as Run<N>)(reader, context, input);
  const job = { operation: name, run };
  const reply = await withWriter(directory, key, workspaceId, (writer) => performSealed(session, writer, job));
  await installation.changed();
  return reply;
}
