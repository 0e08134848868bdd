/** The schemas of `/account`. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, MAX_NAME_LENGTH, textField, wordOf } from "../../../api/fields.ts";
import { Actor, Count, nullable, object, oneOf, shape, Time, usuallyNull, WorkspaceId } from "../../../api/shapes.ts";
import { isNetwork } from "../../../networks.ts";
import { ACTIVITY_INTERVALS, ROLES, SCOPES } from "../../../operation-facts.ts";
import { nameProblem } from "../../directory/workspaces.ts";
import { KEY_NETWORKS_MAX } from "../../keys/new-key.ts";
import { isEmail } from "../emails.ts";
import { isPassword, PASSWORD_MAX_CHARACTERS, PASSWORD_MIN_CHARACTERS } from "../passwords.ts";

/** The longest code or token. */
const MAX_SECRET_LENGTH = 128;

export const Email = textField(
  "Email",
  {
    minLength: 3,
    maxLength: 254,
    description: "An email address, to sign in with: one @, no spaces. Case is ignored.",
    examples: ["ada@example.com"],
  },
  isEmail,
);

export const NewPassword = textField(
  "NewPassword",
  {
    minLength: PASSWORD_MIN_CHARACTERS,
    maxLength: PASSWORD_MAX_CHARACTERS,
    description: `A password of ${PASSWORD_MIN_CHARACTERS} to ${PASSWORD_MAX_CHARACTERS} characters, which is not a common one. There are no other rules.`,
    examples: ["another long password"],
  },
  isPassword,
);

/** A password to compare. One that nobody can have is wrong, not malformed. */
export const Password = t.String({
  maxLength: 4 * PASSWORD_MAX_CHARACTERS,
  description: "The password: a string.",
  examples: ["a long enough password"],
});

export const Name = textField(
  "Name",
  {
    minLength: 1,
    maxLength: MAX_NAME_LENGTH,
    description: `A name for people: 1 to ${MAX_NAME_LENGTH} characters, none of them a control character, not only spaces.`,
    examples: ["Ada Lovelace"],
  },
  (text) => nameProblem(text) === null,
);

/** A name of a workspace. */
export const WorkspaceName = { ...Name, examples: ["Analytical engines"] };

export const Code = t.String({
  minLength: 1,
  maxLength: MAX_SECRET_LENGTH,
  description: "Six digits of the authenticator, or a recovery code: a string.",
  examples: ["123456"],
});

export const Token = t.String({
  minLength: 1,
  maxLength: MAX_SECRET_LENGTH,
  description: "The part after #token= in a link: a string.",
  examples: ["gvl_QZc0Jf2mSxJv4tE8Yw1nR6bKp3uD5gHaLi7oTqXeVyM"],
});

const NetworkName = textField(
  "Network",
  { maxLength: 64, description: "An IP address or a network in CIDR form, of IPv4 or IPv6.", examples: ["10.0.0.0/8"] },
  isNetwork,
);

/** The networks that a key is limited to. */
export const NetworkNames = t.Array(NetworkName, {
  minItems: 1,
  maxItems: KEY_NETWORKS_MAX,
  description: `The addresses and networks that requests with the key may come from: 1 to ${KEY_NETWORKS_MAX}.`,
  examples: [["10.0.0.0/8", "2001:db8::/32"]],
});

export const RoleName = wordOf(ROLES, "A role", { examples: ["auditor"] });
export const ScopeName = wordOf(SCOPES, "A scope", { examples: ["agent"] });

export const idOf = (prefix: string) =>
  t.String({ pattern: `^${prefix}_`, examples: [`${prefix}_01jz8v6s3yf0abm5q2x9k7n4tc`] });
const KeyId = idOf("key");

/** Whatever name people gave. */
export const GivenName = t.String({ examples: Name.examples as string[] });
const GivenEmail = t.String({ examples: Email.examples as string[] });
const GivenLabel = nullable(t.String({ examples: ["billing"] }));

export const Status = shape("SignUpStatus", {
  signup: oneOf(["invite", "open", "closed"]),
  first_account: t.Boolean({ description: "True while there is no account." }),
  issuer: nullable(
    t.String({ description: "The OpenID issuer that people can sign in by.", examples: ["https://id.example.org"] }),
  ),
  issuer_only: t.Boolean({ description: "Signing in with a password is off, except for owners with a second factor." }),
});

export const IssuerAddress = shape("IssuerAddress", {
  url: t.String({ examples: ["https://id.example.org/authorize?client_id=governd"] }),
});

export const LinkShape = shape("Link", {
  kind: oneOf(["setup", "invitation", "reset"]),
  workspace: nullable(object({ id: WorkspaceId, name: GivenName })),
  role: nullable(RoleName),
  expires_at: Time,
});

export const AccountShape = shape("Account", {
  id: idOf("usr"),
  email: GivenEmail,
  name: GivenName,
  totp: t.Boolean({ description: "Signing in with the password needs a code." }),
  passkeys: { ...Count, description: "Passkeys. With one, the password alone does not sign in." },
  recovery_codes_left: Count,
  created_at: Time,
});

export const SessionShape = shape("Session", {
  id: idOf("ses"),
  created_at: Time,
  last_seen_at: Time,
  expires_at: Time,
  address: t.String({ examples: ["203.0.113.7"] }),
  user_agent: t.String({ examples: ["Mozilla/5.0"] }),
  current: t.Boolean({ description: "The session of this request." }),
});

const workspaceMembers = {
  id: WorkspaceId,
  name: GivenName,
  role: RoleName,
  created_at: Time,
  requires_second_factor: t.Boolean({ description: "Members without a second factor cannot use the workspace." }),
  locked: t.Boolean({ description: "You cannot use it, because you have no second factor." }),
};

export const WorkspaceShape = shape("Workspace", workspaceMembers);

/** Null for none. */
const quotas = { quota_bytes: nullable(Count), quota_entries: nullable(Count) };

export const WorkspaceDetails = shape("WorkspaceDetails", {
  ...workspaceMembers,
  ...quotas,
  storage_bytes: Count,
  members: Count,
  keys: Count,
});

export const Upkeep = shape("Upkeep", {
  disk: shape("DiskState", { free_bytes: Count, total_bytes: Count, full: t.Boolean() }),
  certificates: t.Array(shape("CertificateState", { role: oneOf(["server", "client_ca"]), expires_at: Time })),
  backups: nullable(
    shape(
      "BackupState",
      { last_success_at: nullable(Time), last_failure_at: usuallyNull(Time) },
      "Null without a schedule.",
    ),
  ),
});

const ByDetector = t.Record(t.String(), t.Integer({ minimum: 1 }), {
  description:
    "Numbers of operations, by the detector or the pattern that found something; what was blocked without one, by the policy.",
  examples: [{ email: 4 }],
});

export const FindingsOverTime = shape("FindingsOverTime", {
  interval: oneOf(ACTIVITY_INTERVALS),
  start_time: Time,
  end_time: Time,
  data: t.Array(
    shape(
      "FindingsInterval",
      { start_time: Time, blocked: ByDetector, redacted: nullable(ByDetector), reported: nullable(ByDetector) },
      "`redacted` and `reported` are null where there are too many events to look through.",
    ),
  ),
});

export const WhoAmI = shape("SignedIn", {
  account: AccountShape,
  session: SessionShape,
  workspaces: t.Array(WorkspaceShape),
  installation: nullable(WorkspaceShape),
  ca_file: nullable(
    t.String({
      description:
        "The file on the daemon's machine with the certificate authority that clients trust; null with another's certificate.",
      examples: ["/var/lib/governd/tls/ca.crt"],
    }),
  ),
});

const ApiKey = t.String({ pattern: "^gov_", description: "The key itself, shown only once.", examples: ["gov_…"] });

export const SignedUpShape = shape("SignedUp", {
  account: AccountShape,
  workspace: WorkspaceShape,
  workspace_id: WorkspaceId,
  api_key: nullable(ApiKey),
  key_id: nullable(KeyId),
});

export const NewWorkspace = shape("NewWorkspace", {
  workspace: WorkspaceShape,
  workspace_id: WorkspaceId,
  api_key: ApiKey,
  key_id: KeyId,
});

export const MemberShape = shape("Member", {
  account_id: idOf("usr"),
  email: GivenEmail,
  name: GivenName,
  role: RoleName,
  joined_at: Time,
  you: t.Boolean(),
});

const invitationMembers = {
  id: idOf("inv"),
  role: RoleName,
  label: GivenLabel,
  created_at: Time,
  created_by: Actor,
  expires_at: Time,
};

export const InvitationShape = shape("Invitation", invitationMembers);

export const NewInvitation = shape("NewInvitation", {
  ...invitationMembers,
  token: t.String({ pattern: "^inv_", description: "Shown only once.", examples: ["inv_…"] }),
  url: t.String({
    description: "The link for the invited person. It contains the token.",
    examples: ["https://localhost:8443/join#token=inv_…"],
  }),
});

const keyMembers = {
  id: KeyId,
  label: GivenLabel,
  scope: oneOf(SCOPES),
  agents: usuallyNull(t.Array(AgentId)),
  networks: usuallyNull(
    t.Array(t.String(), { description: "The addresses and networks that requests may come from." }),
  ),
  state: oneOf(["in_force", "expired", "revoked"]),
  created_at: Time,
  created_by: Actor,
  expires_at: usuallyNull(Time),
  last_used_at: nullable(Time),
  revoked_at: usuallyNull(Time),
  replaced_by: usuallyNull(KeyId),
};

export const KeyShape = shape("ApiKey", keyMembers);
export const NewKeyShape = shape("NewApiKey", { ...keyMembers, api_key: ApiKey });
export const RotatedKey = shape("RotatedApiKey", {
  ...keyMembers,
  api_key: ApiKey,
  replaces: KeyId,
  replaced_expires_at: Time,
});

export const TotpBegun = shape("TotpBegun", {
  secret: t.String({ description: "Base32.", examples: ["…"] }),
  uri: t.String({
    description: "otpauth://, for a QR code.",
    examples: ["otpauth://totp/governd:ada@example.com?secret=…"],
  }),
});

export const RecoveryCodes = shape("RecoveryCodes", { recovery_codes: t.Array(t.String({ examples: ["…"] })) });
