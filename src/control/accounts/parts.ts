/** What the services about accounts are made of. */
import type { Clock, IdSource, RandomPool } from "../../ids.ts";
import { Administration } from "../administration.ts";
import type { ControlDatabase } from "../database.ts";
import type { WorkspaceRecorder } from "../recorder.ts";
import type { Attempts } from "./attempts.ts";
import type { Passwords } from "./passwords.ts";

/** Who may make an account: only by invitation, anybody, nobody. */
export type SignupMode = "invite" | "open" | "closed";

export interface AccountParts {
  control: ControlDatabase;
  recorder: WorkspaceRecorder;
  clock: Clock;
  ids: IdSource;
  random: RandomPool;
  passwords: Passwords;
  attempts: Attempts;
  signup: SignupMode;
  /** Links and mail addresses of sign-ups that are under way: of two at once, one is refused early. */
  signingUp: Set<string>;
}

/** Where a request came from. */
export interface Origin {
  address: string;
  userAgent: string;
  /** The cookie that a browser got when it signed in before. */
  device: string | null;
}

/** Making and ending keys and workspaces in somebody's name. */
export function administrationOf(parts: AccountParts, actor: string): Administration {
  const { control, recorder, clock, ids, random } = parts;
  return new Administration({ control, recorder, clock, ids, random, actor });
}
