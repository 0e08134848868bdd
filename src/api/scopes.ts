/** What each scope of an API key allows. */

import type { Principal } from "../core/writer/contract.ts";
import { type OperationName, scopesOf } from "../operations.ts";
import { Problem } from "../problem.ts";

/** @throws {Problem} `forbidden` when the key's scope does not allow the operation. */
export function checkScope(principal: Principal, operation: OperationName): void {
  if (scopesOf(operation).includes(principal.scope)) return;
  throw new Problem(
    "forbidden",
    `A key of scope "${principal.scope}" does not allow ${operation}. Use a key of scope ${scopesOf(operation)
      .map((scope) => `"${scope}"`)
      .join(" or ")}.`,
  );
}

/** @throws {Problem} `forbidden` when the key is limited to agents, since this is about all of them. */
export function checkWorkspaceWide(principal: Principal): void {
  if (principal.agents === null) return;
  throw new Problem("forbidden", "This key is limited to named agents. Use a key without that limit.");
}
