/** Performs the operations that take away what a restore must not give back. */
import type { Run } from "../core/writer/operation.ts";
import type { WorkspaceWriter } from "../core/writer/perform.ts";
import type { OperationInputs } from "../operations.ts";
import { accountOperations } from "../ops/accounts/operations.ts";
import { agentOperations } from "../ops/agents/operations.ts";
import { cliPrincipal } from "../ops/directory/journal.ts";
import { keyOperations } from "../ops/keys/operations.ts";
import { memberOperations } from "../ops/members/operations.ts";
import { sinkOperations } from "../ops/sinks/operations.ts";

const OPERATIONS = {
  ...accountOperations,
  ...keyOperations,
  ...memberOperations,
  ...sinkOperations,
  ...agentOperations,
};

/** Performs an operation as the command line. @throws {Error} when it is refused, which would be a defect */
export type Perform = <N extends keyof typeof OPERATIONS>(name: N, input: OperationInputs[N]) => Promise<void>;

/** Returns what performs operations in the file of a workspace. */
export const performIn =
  (writer: WorkspaceWriter): Perform =>
  async (name, input) => {
    const own = OPERATIONS[name].run as Run<typeof name>;
    const principal = cliPrincipal(writer.workspaceId);
    const [reply] = await writer.perform([
      { operation: name, principal, run: (reader, context) => own(reader, context, input) },
    ]);
    const answer = reply?.answer;
    if (answer?.kind === "problem") throw new Error(`${name} was refused: ${answer.detail}`);
  };
