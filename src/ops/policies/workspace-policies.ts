/** Operations on the workspace policies. They run on the workspace's thread. */

import { listBody } from "../../core/lists.ts";
import type { AgentState } from "../../core/rows/agents.ts";
import { type ConfigVersion, configFacts, listConfigs, readConfigVersion } from "../../core/rows/configs.ts";
import { answered, type Context, conflict, notFound, type Run } from "../../core/writer/operation.ts";
import type { JsonObject } from "../../json.ts";
import { canonicalJson } from "../../log/jcs.ts";
import { holds } from "../../operation-facts.ts";
import { parsePoliciesVersion, policiesMembers, showPoliciesVersion } from "../../screen/workspace-policies.ts";

const NO_VERSION = "The workspace's policies have no such version. GET /v1/policies/versions lists them.";
const CONFLICT = {
  absent: "The condition asks for policies of the workspace, and there are none yet.",
  present: "The condition asks for no policies, and the workspace has some. Read them, then decide what to do.",
  other: "The policies in force are not those that the condition asks for. Read them again, then decide what to do.",
};

const BEFORE_THE_FIRST = JSON.stringify({ version: null, ...policiesMembers({}), created_at: null, created_by: null });

/** Returns the workspace's own state, whose chain has the versions. */
async function workspaceOf({ agents }: Context): Promise<AgentState> {
  const workspace = await agents.find(null);
  if (workspace === null) throw new Error("the workspace has no genesis event");
  return workspace;
}

const showVersion = ({ version, config, createdAt, createdBy }: ConfigVersion): JsonObject => ({
  version: showPoliciesVersion(version),
  ...policiesMembers(JSON.parse(config) as JsonObject),
  created_at: createdAt,
  created_by: createdBy,
});

export const readWorkspacePolicies: Run<"policies.read"> = async (reader, context) => {
  const { firstSeq, configVersion } = await workspaceOf(context);
  if (configVersion === null) return answered(null, { version: null }, BEFORE_THE_FIRST);
  const found = await readConfigVersion(reader, firstSeq, configVersion);
  return showing(found);
};

export const readPoliciesVersion: Run<"policies.read_version"> = async (reader, context, input) => {
  const { firstSeq, configVersion } = await workspaceOf(context);
  const version = parsePoliciesVersion(input.version);
  // Text that is not a version may be anything, so the details leave it out.
  const details: JsonObject = version === null ? {} : { version: `p${version}` };
  // Versions have no gaps.
  if (version === null || version > (configVersion ?? 0)) {
    return notFound(null, null, "version_not_found", NO_VERSION, details);
  }
  return showing(await readConfigVersion(reader, firstSeq, version));
};

function showing(version: ConfigVersion) {
  const etag = `p${version.version}`;
  return answered(null, { version: etag }, JSON.stringify(showVersion(version)), { etag });
}

export const listPoliciesVersions: Run<"policies.list_versions"> = async (reader, context, input) => {
  const { firstSeq } = await workspaceOf(context);
  const { items, last } = await listConfigs(reader, firstSeq, input);
  const shown = items.map((version) => JSON.stringify(showVersion(version)));
  return answered(
    null,
    { count: items.length },
    listBody("policies.list_versions", input, shown, last?.version ?? null),
  );
};

export const updateWorkspacePolicies: Run<"policies.update"> = async (
  _reader,
  context,
  { workspacePolicies, condition },
) => {
  const workspace = await workspaceOf(context);
  const current = showPoliciesVersion(workspace.configVersion);
  if (condition !== undefined && !holds(condition, current)) {
    return conflict(null, {}, CONFLICT, condition, current);
  }
  const content = {
    version: (workspace.configVersion ?? 0) + 1,
    config: canonicalJson(workspacePolicies),
    salt: context.newSalt(),
    rolledBackFrom: null,
  };
  const facts = configFacts(content, "p");
  const made = { ...content, createdAt: context.timestamp, createdBy: context.principal.actor };
  const details = { version: facts.version, config_digest: facts.digest };
  return answered(null, details, JSON.stringify(showVersion(made)), {
    etag: facts.version,
    effect: { kind: "add_config", ...facts, content },
  });
};
