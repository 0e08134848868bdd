/** The schemas of `/account`. */
import { type TUnsafe, Type as t } from "@sinclair/typebox";
import { isEmail } from "../../control/accounts/accounts.ts";
import { INVITATION_MAX_DAYS, LINK_LIFETIME_DAYS } from "../../control/accounts/links.ts";
import { ROLES, type Role } from "../../control/accounts/members.ts";
import { isPassword, PASSWORD_MAX_CHARACTERS, PASSWORD_MIN_CHARACTERS } from "../../control/accounts/passwords.ts";
import { KEY_AGENTS_MAX } from "../../control/administration.ts";
import { SCOPES } from "../../control/keys.ts";
import { nameProblem } from "../../control/workspaces.ts";
import { AgentId, field, MAX_NAME_LENGTH } from "../fields.ts";
import { Count, nullable, object, oneOf, shape, Time } from "../shapes.ts";

/** The longest lifetime of a key with an expiry, days. */
export const KEY_MAX_DAYS = 3_650;
/** How long a rotated key still works: the maximum and the default. */
export const OVERLAP_MAX_HOURS = 720;
export const OVERLAP_HOURS = 24;
/** The longest code or token. */
const MAX_SECRET_LENGTH = 128;

const Email: TUnsafe<string> = field(
  "Email",
  {
    type: "string",
    minLength: 3,
    maxLength: 254,
    description: "An email address, to sign in with: one @, no spaces. Case is ignored.",
    examples: ["ada@example.com"],
  },
  (value) => typeof value === "string" && isEmail(value),
);

const NewPassword: TUnsafe<string> = field(
  "NewPassword",
  {
    type: "string",
    minLength: PASSWORD_MIN_CHARACTERS,
    maxLength: PASSWORD_MAX_CHARACTERS,
    description: `A password of ${PASSWORD_MIN_CHARACTERS} to ${PASSWORD_MAX_CHARACTERS} characters. There are no other rules.`,
  },
  (value) => typeof value === "string" && isPassword(value),
);

/** A password to compare. One that nobody can have is wrong, not malformed. */
const Password = t.String({ maxLength: 4 * PASSWORD_MAX_CHARACTERS, description: "The password: a string." });

const Name: TUnsafe<string> = field(
  "Name",
  {
    type: "string",
    minLength: 1,
    maxLength: MAX_NAME_LENGTH,
    description: `A name for people: 1 to ${MAX_NAME_LENGTH} characters, none of them a control character, not only spaces.`,
    examples: ["Ada Lovelace"],
  },
  (value) => typeof value === "string" && nameProblem(value) === null,
);

const Code = t.String({
  minLength: 1,
  maxLength: MAX_SECRET_LENGTH,
  description: "Six digits of the authenticator, or a recovery code: a string.",
});

const Token = t.String({
  minLength: 1,
  maxLength: MAX_SECRET_LENGTH,
  description: "The part after #token= in a link: a string.",
});

const RoleName = t.Unsafe<Role>(
  t.Union(
    ROLES.map((role) => t.Literal(role)),
    { description: `A role: ${ROLES.join(", ")}.` },
  ),
);

const ScopeName = t.Unsafe<(typeof SCOPES)[number]>(
  t.Union(
    SCOPES.map((scope) => t.Literal(scope)),
    { default: "full", description: `A scope: ${SCOPES.join(", ")}.` },
  ),
);

export const TokenBody = object({ token: Token });
export const SignUpBody = object({
  email: Email,
  password: NewPassword,
  name: t.Optional(Name),
  workspace_name: t.Optional(Name),
  token: t.Optional(Token),
});
export const SignInBody = object({
  email: t.String({ maxLength: 1_024, description: "The email address of the account: a string." }),
  password: Password,
  code: t.Optional(Code),
});
export const ResetBody = object({ token: Token, new_password: NewPassword });
export const NameBody = object({ name: Name });
export const PasswordBody = object({ current_password: Password, new_password: NewPassword });
export const PasswordAgainBody = object({ password: Password });
export const CodeBody = object({ code: Code });
export const PasswordAndCodeBody = object({ password: Password, code: Code });
export const RoleBody = object({ role: RoleName });
export const InvitationBody = object({
  role: RoleName,
  label: t.Optional(Name),
  expires_in_days: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: INVITATION_MAX_DAYS,
      default: LINK_LIFETIME_DAYS,
      description: `Days until it can no longer be used: an integer from 1 to ${INVITATION_MAX_DAYS}.`,
    }),
  ),
});
export const KeyBody = object({
  label: t.Optional(Name),
  scope: t.Optional(ScopeName),
  agents: t.Optional(
    t.Array(AgentId, {
      minItems: 1,
      maxItems: KEY_AGENTS_MAX,
      description: `The agents that the key is limited to: 1 to ${KEY_AGENTS_MAX} agent ids.`,
    }),
  ),
  expires_in_days: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: KEY_MAX_DAYS,
      description: `Days until the key ends: an integer from 1 to ${KEY_MAX_DAYS}.`,
    }),
  ),
});
export const RotateBody = object({
  overlap_hours: t.Optional(
    t.Integer({
      minimum: 0,
      maximum: OVERLAP_MAX_HOURS,
      default: OVERLAP_HOURS,
      description: `How many hours the old key still works: an integer from 0 to ${OVERLAP_MAX_HOURS}.`,
    }),
  ),
});

const Id = t.String();

export const Status = object({
  signup: oneOf(["invite", "open", "closed"]),
  first_account: t.Boolean({ description: "True while there is no account." }),
});

export const LinkShape = object({
  kind: oneOf(["setup", "invitation", "reset"]),
  workspace: nullable(object({ id: Id, name: t.String() })),
  role: nullable(RoleName),
  expires_at: Time,
});

export const AccountShape = shape("Account", {
  id: t.String({ pattern: "^usr_" }),
  email: t.String(),
  name: t.String(),
  totp: t.Boolean({ description: "Signing in needs a second factor." }),
  recovery_codes_left: Count,
  created_at: Time,
});

export const SessionShape = shape("Session", {
  id: t.String({ pattern: "^ses_" }),
  created_at: Time,
  last_seen_at: Time,
  expires_at: Time,
  address: t.String(),
  user_agent: t.String(),
  current: t.Boolean({ description: "The session of this request." }),
});

const workspaceMembers = { id: t.String({ pattern: "^ws_" }), name: t.String(), role: RoleName, created_at: Time };

export const WorkspaceShape = shape("Workspace", workspaceMembers);

/** Null for none. */
const quotas = { quota_bytes: nullable(Count), quota_entries: nullable(Count) };

export const WorkspaceDetails = object({
  ...workspaceMembers,
  ...quotas,
  storage_bytes: Count,
  members: Count,
  keys: Count,
});

export const WhoAmI = shape("SignedIn", {
  account: AccountShape,
  session: SessionShape,
  workspaces: t.Array(WorkspaceShape),
});

const ApiKey = t.String({ pattern: "^gov_", description: "The key itself, shown only once." });

export const SignedUpShape = object({
  account: AccountShape,
  workspace: WorkspaceShape,
  workspace_id: Id,
  api_key: nullable(ApiKey),
  key_id: nullable(Id),
});

export const NewWorkspace = object({ workspace: WorkspaceShape, workspace_id: Id, api_key: ApiKey, key_id: Id });

export const MemberShape = shape("Member", {
  account_id: t.String({ pattern: "^usr_" }),
  email: t.String(),
  name: t.String(),
  role: RoleName,
  joined_at: Time,
  you: t.Boolean(),
});

const invitationMembers = {
  id: t.String({ pattern: "^inv_" }),
  role: RoleName,
  label: nullable(t.String()),
  created_at: Time,
  created_by: t.String(),
  expires_at: Time,
};

export const InvitationShape = shape("Invitation", invitationMembers);

export const NewInvitation = object({
  ...invitationMembers,
  token: t.String({ pattern: "^gvl_", description: "Shown only once." }),
  url: t.String({ description: "The link for the invited person. It contains the token." }),
});

const keyMembers = {
  id: t.String({ pattern: "^key_" }),
  label: nullable(t.String()),
  scope: oneOf(SCOPES),
  agents: nullable(t.Array(AgentId)),
  state: oneOf(["in_force", "expired", "revoked"]),
  created_at: Time,
  created_by: t.String(),
  expires_at: nullable(Time),
  last_used_at: nullable(Time),
  revoked_at: nullable(Time),
  replaced_by: nullable(Id),
};

export const KeyShape = shape("ApiKey", keyMembers);
export const NewKeyShape = object({ ...keyMembers, api_key: ApiKey });
export const RotatedKey = object({ ...keyMembers, api_key: ApiKey, replaces: Id });

export const TotpBegun = object({
  secret: t.String({ description: "Base32." }),
  uri: t.String({ description: "otpauth://, for a QR code." }),
});

export const RecoveryCodes = object({ recovery_codes: t.Array(t.String()) });

export const Ended = object({ ended: Count });
