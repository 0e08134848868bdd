/** The roles that groups give: everywhere, in one workspace, and to people without any. */
import { describe, expect, test } from "bun:test";
import { type IssuedRole, issuedRoles, type RoleRules, roleIn } from "../../src/oidc/group-roles.ts";

const [ONE, TWO] = ["ws_01h455vb4pex5vsknk084sn02q", "ws_01h455vb4pex5vsknk084sn02r"];

const RULES: RoleRules = {
  roleMap: [
    { group: "owners", role: "owner", workspaceId: null },
    { group: "readers", role: "auditor", workspaceId: null },
    { group: "team", role: "member", workspaceId: ONE },
    { group: "team", role: "auditor", workspaceId: TWO },
    { group: "leads", role: "owner", workspaceId: ONE },
  ],
  requireGroup: null,
  defaultRole: null,
};

describe("somebody's roles in two workspaces", () => {
  type Roles = [one: IssuedRole | null, two: IssuedRole | null] | null;
  const cases: [groups: string[], rules: Partial<RoleRules>, roles: Roles][] = [
    [["owners"], {}, ["owner", "owner"]],
    [["team"], {}, ["member", "auditor"]],
    [["leads"], {}, ["owner", null]],
    [["team", "leads"], {}, ["owner", "auditor"]],
    [["readers", "team"], {}, ["member", "auditor"]],
    [["owners", "team"], {}, ["owner", "owner"]],
    [["others"], {}, null],
    [[], {}, null],
    [["Owners"], {}, null],
    [["others"], { defaultRole: "auditor" }, ["auditor", "auditor"]],
    // The default is for those to whom no group gives a role.
    [["leads"], { defaultRole: "auditor" }, ["owner", null]],
    [["owners"], { requireGroup: "users" }, null],
    [["owners", "users"], { requireGroup: "users" }, ["owner", "owner"]],
    [[], { requireGroup: "users", defaultRole: "member" }, null],
    [["users"], { requireGroup: "users", defaultRole: "member" }, ["member", "member"]],
  ];
  test.each(cases)("groups %j with %j: %j", (groups, rules, roles) => {
    const issued = issuedRoles({ ...RULES, ...rules }, groups);
    expect(issued && [roleIn(issued, ONE), roleIn(issued, TWO)]).toEqual(roles);
  });
});
