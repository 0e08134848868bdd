/** The setting that gives roles to the groups of an issuer. */
import { isId } from "../ids.ts";
import { type GroupRole, ISSUED_ROLES } from "../oidc/group-roles.ts";
import { type Kind, Mistaken } from "./values.ts";

const GROUP_ROLE = new RegExp(`^(.+)=(?:(ws_[0-9a-z]+):)?(${ISSUED_ROLES.join("|")})$`);

/** Roles by group: a table in the settings file, and `group=role` or `group=ws_…:role` elsewhere. */
export const groupRoles: Kind<GroupRole[]> = {
  metavar: "group=role,…",
  read(raw) {
    const expected = `must give each group a role (owner, member or auditor), or a role in one workspace: { "team-a" = "member", "team-b" = "ws_…:auditor" }`;
    const items = typeof raw === "string" ? raw.split(",").filter((item) => item.trim() !== "") : raw;
    if (typeof items !== "object" || items === null) throw new Mistaken(expected);
    const texts = Array.isArray(items)
      ? items
      : Object.entries(items).flatMap(([group, roles]) => [roles].flat().map((role) => `${group}=${role}`));
    return texts.map((item) => {
      const [, group, workspaceId = null, role] = (typeof item === "string" && GROUP_ROLE.exec(item.trim())) || [];
      if (group === undefined || role === undefined) throw new Mistaken(expected);
      if (workspaceId !== null && !isId("ws", workspaceId)) throw new Mistaken(expected);
      return { group: group.trim(), role: role as GroupRole["role"], workspaceId };
    });
  },
  show: (value) =>
    value.map(({ group, role, workspaceId }) => `${group}=${workspaceId === null ? "" : `${workspaceId}:`}${role}`),
};
