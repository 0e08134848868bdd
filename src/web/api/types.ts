/**
 * What the API returns, derived from the schemas that document it: when the API changes and the
 * dashboard does not, this does not compile. The imports are types only, so none of it is bundled.
 */
import type { Static } from "@sinclair/typebox";
import type * as passkeys from "../../ops/accounts/routes/passkey-schema.ts";
import type * as account from "../../ops/accounts/routes/schema.ts";
import type * as agents from "../../ops/agents/schema.ts";
import type * as audit from "../../ops/audit/schema.ts";
import type * as proofs from "../../ops/audit/state/schema.ts";
import type * as checkpoints from "../../ops/checkpoints/schema.ts";
import type * as config from "../../ops/config/schema.ts";
import type * as findings from "../../ops/data/finding-schema.ts";
import type * as data from "../../ops/data/schema.ts";
import type * as policies from "../../ops/policies/schema.ts";
import type * as quarantine from "../../ops/quarantine/schema.ts";
import type * as sinks from "../../ops/sinks/schema.ts";

export type { JsonObject } from "../../json.ts";

/** One page of a list. */
export interface Page<T> {
  data: T[];
  has_more: boolean;
  next_cursor: string | null;
}

type ItemOf<List extends { data: unknown[] }> = List["data"][number];

export type Status = Static<typeof account.Status>;
export type LinkInfo = Static<typeof account.LinkShape>;
export type Account = Static<typeof account.AccountShape>;
export type Session = Static<typeof account.SessionShape>;
export type SignedIn = Static<typeof account.WhoAmI>;
export type SignUpResult = Static<typeof account.SignedUpShape>;
export type Passkey = Static<typeof passkeys.PasskeyShape>;
export type PasskeyBegun = Static<typeof passkeys.PasskeyBegun>;
export type PasskeyAsked = Static<typeof passkeys.PasskeyAsked>;
export type PasskeyAdded = Static<typeof passkeys.PasskeyAdded>;
export type TotpBegun = Static<typeof account.TotpBegun>;
export type RecoveryCodes = Static<typeof account.RecoveryCodes>;

export type Workspace = Static<typeof account.WorkspaceShape>;
export type WorkspaceInfo = Static<typeof account.WorkspaceDetails>;
export type NewWorkspace = Static<typeof account.NewWorkspace>;
export type FindingsOverTime = Static<typeof account.FindingsOverTime>;
export type Upkeep = Static<typeof account.Upkeep>;
export type Role = Workspace["role"];
export type Member = Static<typeof account.MemberShape>;
export type Invitation = Static<typeof account.InvitationShape>;
export type NewInvitation = Static<typeof account.NewInvitation>;
export type ApiKey = Static<typeof account.KeyShape>;
export type NewApiKey = Static<typeof account.NewKeyShape>;
export type Scope = ApiKey["scope"];

export type Agent = Static<typeof agents.AgentShape>;
export type Policies = Static<typeof config.Policies>;
export type ConfigVersion = Static<typeof config.ConfigVersion>;
export type ConfigVersionItem = ItemOf<Static<typeof config.ConfigVersionList>>;

export type WorkspacePolicies = Static<typeof policies.PoliciesInForce>;
export type WorkspacePoliciesVersion = Static<typeof policies.PoliciesVersion>;
export type CheckResult = Static<typeof policies.CheckResult>;
export type ReplayResult = Static<typeof policies.ReplayResult>;

export type CheckpointChanges = Static<typeof checkpoints.CheckpointChanges>;
export type EffectivePolicies = Static<typeof config.EffectivePolicies>;

export type EntryList = Static<typeof data.EntryList>;
export type EntryItem = ItemOf<EntryList>;
export type EntryGroup = NonNullable<EntryList["prefixes"]>[number];
export type EntryVersionList = Static<typeof data.EntryVersionList>;
export type EntryVersionItem = ItemOf<EntryVersionList>;
export type FullEntry = Static<typeof data.FullEntry>;
export type Finding = Static<typeof findings.Finding>;
export type DeletedOrErased = Static<typeof data.DeletedOrErased>;
export type WriteResult = Static<typeof data.WriteResult>;
export type SearchResult = Static<typeof data.SearchResult>;

export type QuarantinePreview = Static<typeof quarantine.QuarantinePreview>;
export type Quarantined = Static<typeof quarantine.Quarantined>;

export type Checkpoint = Static<typeof checkpoints.Checkpoint>;
export type CheckpointWithState = Static<typeof checkpoints.CheckpointWithState>;
export type RestoreResult = Static<typeof checkpoints.RestoreResult>;

export type Sink = Static<typeof sinks.SinkShape>;
export type SinkTested = Static<typeof sinks.SinkTested>;

export type AuditEvent = Static<typeof audit.AuditEvent>;
export type AuditOutcome = AuditEvent["result"];
export type Lineage = Static<typeof audit.Lineage>;
export type LineageItem = ItemOf<Lineage>;
export type Proof = Static<typeof proofs.Proof>;
export type Verification = Static<typeof audit.Verification>;
export type Activity = Static<typeof audit.Activity>;
export type ActivityInterval = ItemOf<Activity>;
export type SealingKey = Static<typeof audit.SealingKey>;
export type Anchor = Static<typeof audit.Anchors>["anchors"][number];
