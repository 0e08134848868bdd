/** Finds members and invitations for the daemon, and shows them: reads are not recorded. */
import {
  findMember,
  findOpenInvitation,
  listMembers,
  listOpenInvitations,
  type OpenInvitation,
  type StoredMember,
  secondFactorSince,
} from "../../core/rows/access/members.ts";
import type { Answer } from "../../core/writer/contract.ts";
import type { LookContext } from "../../core/writer/operation.ts";
import { showTime } from "../../ids.ts";
import type { OperationInputs } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";

/** An invitation as it is shown; its token cannot be. */
export const shownInvitation = ({ id, role, label, createdAt, createdBy, expiresAt }: OpenInvitation) => ({
  ...{ id, role, label, created_at: showTime(createdAt), created_by: createdBy, expires_at: showTime(expiresAt) },
});

export type ShownInvitation = ReturnType<typeof shownInvitation>;

const found = (body: object | null): Answer => ({ kind: "json", status: 200, body: JSON.stringify(body) });

/** What a workspace says of an account: its membership, null when it is no member, and whether members need a second factor. */
export interface FoundMember {
  member: StoredMember | null;
  requiresSecondFactor: boolean;
}

export async function showMember(reader: Reader, _: unknown, { accountId }: OperationInputs["member.find"]) {
  const member = (await findMember(reader, accountId)) ?? null;
  const requiresSecondFactor = (await secondFactorSince(reader)) !== null;
  return found({ member, requiresSecondFactor } satisfies FoundMember);
}

/** Answers with all members, the one who joined first at the beginning. */
export const showMembers = async (reader: Reader): Promise<Answer> => found({ data: await listMembers(reader) });

/** Answers with the open invitations, newest first. */
export const showInvitations = async (reader: Reader, { nowMs }: Pick<LookContext, "nowMs">): Promise<Answer> =>
  found({ data: (await listOpenInvitations(reader, nowMs)).map(shownInvitation) });

/** Answers with the open invitation whose token has this digest; null when there is none. */
export const showInvitationOfDigest = async (
  reader: Reader,
  { nowMs }: Pick<LookContext, "nowMs">,
  { digest }: OperationInputs["invitation.find"],
): Promise<Answer> => found((await findOpenInvitation(reader, digest, nowMs)) ?? null);
