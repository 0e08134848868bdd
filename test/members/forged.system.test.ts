/**
 * Logs in which an event changes a member or an invitation that could not be changed so: both verifiers say that it is
 * impossible.
 */
import { afterAll, describe, expect, setDefaultTimeout } from "bun:test";
import type { Role } from "../../src/operation-facts.ts";
import { digestOf } from "../../src/ops/directory/secret.ts";
import type { SqlValue } from "../../src/store/values.ts";
import { typeId } from "../log/sample.ts";
import { ForgedWorkspace } from "../support/forged-workspace.ts";
import { bodyOf } from "../support/open-workspace.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const second = new SecondVerifier();
afterAll(() => second[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;
const [TARGET, DECOY, OTHER] = [1, 2, 3].map((number) => typeId("usr", number)) as [string, string, string];

/** An invitation, and the digest of its token. */
interface Invited {
  id: string;
  digest: string;
}

async function invite({ workspace }: ForgedWorkspace, role: Role = "member"): Promise<Invited> {
  const { id, token } = bodyOf(await workspace.perform("member.invite", { role, label: null, expiresInDays: 7 }));
  return { id, digest: digestOf(token).toHex() };
}

async function join(scene: ForgedWorkspace, accountId: string, role: Role = "member"): Promise<Invited> {
  const invited = await invite(scene, role);
  bodyOf(await scene.workspace.perform("member.join", { accountId, digest: invited.digest }));
  return invited;
}

async function requireFound(scene: ForgedWorkspace, isPossible: boolean | undefined): Promise<void> {
  const { exits, codes } = await scene.verified(second);
  if (isPossible) expect({ exits, codes }).toEqual({ exits: [0, 0], codes: [] });
  else expect({ exits, codes }).toEqual({ exits: [1, 1], codes: ["operation_impossible"] });
}

/** How the invitation came that the forged event names. */
const INVITATIONS: Record<string, (scene: ForgedWorkspace) => Promise<Invited>> = {
  "does not exist": async () => ({ id: typeId("inv", 1), digest: "ab".repeat(32) }),
  "was used": (scene) => join(scene, OTHER),
  "was withdrawn": async (scene) => {
    const invited = await invite(scene);
    bodyOf(await scene.workspace.perform("member.uninvite", { invitationId: invited.id }));
    return invited;
  },
  "has expired": async (scene) => {
    const invited = await invite(scene);
    scene.pass(7 * DAY_MS);
    return invited;
  },
  "gives another role": (scene) => invite(scene, "auditor"),
  "is open": (scene) => invite(scene),
};

type End = "member.join" | "member.uninvite";

/** What is possible with each. An invitation that has expired can be withdrawn, which changes nothing for anybody. */
const POSSIBLE: Record<string, readonly End[]> = {
  "has expired": ["member.uninvite"],
  "gives another role": ["member.uninvite"],
  "is open": ["member.join", "member.uninvite"],
};

/** Ends an open invitation, and makes the event and the rows say that it was another one. */
async function forgeEnd(scene: ForgedWorkspace, operation: End, id: string): Promise<void> {
  const { workspace } = scene;
  const decoy = await invite(scene);
  if (operation === "member.join") await workspace.perform(operation, { accountId: DECOY, digest: decoy.digest });
  else await workspace.perform(operation, { invitationId: decoy.id });
  const end = "(ended_seq, used_by)";
  scene.restate(
    { invitation_id: id },
    `UPDATE invitations SET ${end} = (SELECT ended_seq, used_by FROM invitations WHERE id = '${decoy.id}') WHERE id = '${id}'`,
    `UPDATE invitations SET ${end} = (NULL, NULL) WHERE id = '${decoy.id}'`,
  );
}

describe.each(Object.keys(INVITATIONS))("an invitation that %s", (what) => {
  const make = INVITATIONS[what] as (scene: ForgedWorkspace) => Promise<Invited>;

  compared.each(["member.join", "member.uninvite"] as const)("%s", async (operation) => {
    using scene = await ForgedWorkspace.make();
    const { id } = await make(scene);
    expect(await scene.verified(second)).toEqual({ exits: [0, 0], codes: [] });
    await forgeEnd(scene, operation, id);
    await requireFound(scene, POSSIBLE[what]?.includes(operation));
  });

  compared("the daemon's own writer records nothing that the verifiers call impossible", async () => {
    using scene = await ForgedWorkspace.make();
    const { id, digest } = await make(scene);
    const { writer } = scene.workspace;
    const head = writer.headSeq;
    const joined = await scene.workspace.perform("member.join", { accountId: TARGET, digest });
    const ended = await scene.workspace.perform("member.uninvite", { invitationId: id });
    const events = what === "is open" || what === "gives another role" ? 1 : 0;
    expect([joined.answer.kind, ended.answer.kind]).toEqual([events === 1 ? "json" : "problem", "problem"]);
    expect(writer.headSeq - head).toBe(events);
    expect(await scene.verified(second)).toEqual({ exits: [0, 0], codes: [] });
  });
});

/** Who the account is that the forged event names. */
const MEMBERS: Record<string, (scene: ForgedWorkspace) => Promise<unknown>> = {
  "is no member": async () => {},
  "has left": async (scene) => {
    await join(scene, TARGET);
    await scene.workspace.perform("member.remove", { accountId: TARGET });
  },
  "has another role": (scene) => join(scene, TARGET, "auditor"),
  "had the role earlier": async (scene) => {
    await join(scene, TARGET);
    await scene.workspace.perform("member.change", { accountId: TARGET, role: "owner" });
  },
  "has the role": (scene) => join(scene, TARGET),
};

/** Changes a member who can be changed so, and makes the event and the rows say that it was another account. */
async function forgeChange(scene: ForgedWorkspace, operation: "member.change" | "member.remove"): Promise<void> {
  const { workspace } = scene;
  await join(scene, DECOY);
  const whole = "SELECT role, issuer, joined_seq, role_seq FROM members WHERE account_id = ?";
  const before = workspace.connection.get<SqlValue[]>(whole, [DECOY]) ?? [];
  await workspace.perform(operation, { accountId: DECOY, role: "auditor" } as never);
  const changed = "SELECT role, role_seq FROM members WHERE account_id = '";
  scene.restate(
    { account_id: TARGET },
    operation === "member.change"
      ? `UPDATE members SET (role, role_seq) = (${changed}${DECOY}') WHERE account_id = '${TARGET}'`
      : `DELETE FROM members WHERE account_id = '${TARGET}'`,
    `DELETE FROM members WHERE account_id = '${DECOY}'`,
  );
  workspace.connection.run("INSERT INTO members VALUES (?, ?, ?, ?, ?)", [DECOY, ...before]);
}

describe.each(Object.keys(MEMBERS))("an account that %s", (what) => {
  compared.each(["member.change", "member.remove"] as const)("%s", async (operation) => {
    using scene = await ForgedWorkspace.make();
    await MEMBERS[what]?.(scene);
    expect(await scene.verified(second)).toEqual({ exits: [0, 0], codes: [] });
    await forgeChange(scene, operation);
    await requireFound(scene, what === "has the role");
  });
});

compared("somebody who is a member cannot join, with an invitation or by the groups at an issuer", async () => {
  for (const way of ["invitation", "issuer"]) {
    using scene = await ForgedWorkspace.make();
    await join(scene, TARGET);
    const groups = { accountId: DECOY, issuer: "https://id.example.org", role: "member" } as const;
    if (way === "invitation") await join(scene, DECOY);
    else await scene.workspace.perform("member.join", groups);
    const [own, used] = [`account_id = '${TARGET}'`, `used_by = '${TARGET}'`];
    scene.restate(
      { account_id: TARGET },
      `DELETE FROM members WHERE ${own}`,
      `UPDATE members SET ${own}`,
      `UPDATE invitations SET ${used} WHERE used_by = '${DECOY}'`,
    );
    await requireFound(scene, false);
  }
});

compared("a second invitation with the id of another is impossible", async () => {
  using scene = await ForgedWorkspace.make();
  const [one, other] = [await invite(scene), await invite(scene)];
  scene.restate(
    { invitation_id: one.id },
    `DELETE FROM invitations WHERE id = '${one.id}'`,
    `UPDATE invitations SET id = '${one.id}' WHERE id = '${other.id}'`,
  );
  await requireFound(scene, false);
});

compared("the first event states the owner, and the row of the workspace", async () => {
  using scene = await ForgedWorkspace.make();
  const owner = `INSERT INTO members VALUES ('${TARGET}', 'owner', NULL, 0, 0)`;
  scene.restate({ owner: TARGET });
  expect(await scene.verified(second)).toEqual({ exits: [1, 1], codes: ["row_missing"] });
  scene.restate({ owner: TARGET }, owner);
  expect(await scene.verified(second)).toEqual({ exits: [0, 0], codes: [] });
  scene.restate({ owner: null });
  expect(await scene.verified(second)).toEqual({ exits: [1, 1], codes: ["row_added"] });
  scene.restate({ owner: null }, "DELETE FROM members", "DELETE FROM workspace");
  expect(await scene.verified(second)).toEqual({ exits: [1, 1], codes: ["row_missing"] });
});
