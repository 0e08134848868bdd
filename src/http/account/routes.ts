/** Every route of `/account`. */
import type { Action } from "./action.ts";
import { entryActions } from "./entry-routes.ts";
import { keyActions } from "./key-routes.ts";
import { selfActions } from "./self-routes.ts";
import { workspaceActions } from "./workspace-routes.ts";

export const accountActions: readonly Action[] = [
  ...entryActions,
  ...selfActions,
  ...workspaceActions,
  ...keyActions,
];
