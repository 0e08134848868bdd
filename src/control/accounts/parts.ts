/** What the functions about accounts need. */
import type { Clock, IdSource, RandomPool } from "../../ids.ts";
import { Administration } from "../administration.ts";
import type { ControlDatabase } from "../database.ts";
import type { WorkspaceJournal } from "../journal.ts";
import type { Attempts } from "./attempts.ts";
import type { Passwords } from "./passwords.ts";

/** Who may create an account: people with an invitation, anybody, or nobody. */
export type SignupMode = "invite" | "open" | "closed";

export interface AccountParts {
  control: ControlDatabase;
  journal: WorkspaceJournal;
  clock: Clock;
  ids: IdSource;
  random: RandomPool;
  passwords: Passwords;
  attempts: Attempts;
  signup: SignupMode;
  /** Links and mail addresses of sign-ups in progress. Of two at the same time, one is refused early. */
  signingUp: Set<string>;
  /** The number of workspaces that an account is creating, by account. They count against its limit. */
  founding: Map<string, number>;
}

/** Where a request came from. */
export interface Origin {
  address: string;
  userAgent: string;
  /** The cookie that the browser got when it signed in before. */
  device: string | null;
}

/** Returns the administration of keys and workspaces on behalf of an actor. */
export function administrationOf(parts: AccountParts, actor: string): Administration {
  const { control, journal, clock, ids, random } = parts;
  return new Administration({ control, journal, clock, ids, random, actor });
}
