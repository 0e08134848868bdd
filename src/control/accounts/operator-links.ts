/** One-time links that the operator makes: at the machine, so nobody needs to be asked. */
import { type Clock, IdSource, RandomPool } from "../../ids.ts";
import type { ControlDatabase } from "../database.ts";
import { makeLinkToken } from "../secret.ts";
import { hasAccounts } from "./accounts.ts";
import { insertLink, LINK_LIFETIME_MS, type LinkRecord, revokeStartLinks } from "./links.ts";

/** Who makes the link that a start prints. */
const START_ACTOR = "system";

/** What a link is to be for; the rest is the same for all. */
export type LinkWish = Pick<LinkRecord, "kind" | "createdBy"> &
  Partial<Pick<LinkRecord, "workspaceId" | "role" | "accountId" | "dropsTotp">>;

/** Makes a link; answers its record and its token, which is seen this once. */
export function makeLink(
  control: ControlDatabase,
  clock: Clock,
  wish: LinkWish,
): { link: LinkRecord; token: string } {
  const random = new RandomPool();
  const now = clock();
  const { text: token, digest } = makeLinkToken(random);
  const link: LinkRecord = {
    id: new IdSource(clock, random).next("inv"),
    kind: wish.kind,
    workspaceId: wish.workspaceId ?? null,
    role: wish.role ?? null,
    accountId: wish.accountId ?? null,
    dropsTotp: wish.dropsTotp ?? false,
    label: null,
    createdAt: now,
    createdBy: wish.createdBy,
    expiresAt: now + LINK_LIFETIME_MS,
  };
  control.change((connection) => {
    if (wish.createdBy === START_ACTOR) revokeStartLinks(connection, START_ACTOR, now);
    insertLink(connection, link, digest);
  });
  return { link, token };
}

/** The token for the first account, in place of what earlier starts printed; null when there is an account. */
export function startLink(control: ControlDatabase, clock: Clock): string | null {
  if (hasAccounts(control.connection)) return null;
  return makeLink(control, clock, { kind: "setup", createdBy: START_ACTOR }).token;
}
