/** Changes of members and invitations that are cut off: the daemon is killed at any moment. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { dataDirectory } from "../../src/core/datadir/layout.ts";
import { ROLES } from "../../src/operation-facts.ts";
import { governd } from "../cli/governd.ts";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { killedAfter, Session } from "../support/killed-daemon.ts";
import { peopleIn } from "../support/members.ts";
import { WorkspaceView } from "../support/workspace-view.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { HAS_PYTHON, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(3 * PROCESS_TEST_MS);

const KILLS = effort({ usual: 3, long: 40 });
/** The daemon is killed after at most this many answers. */
const MOST_ANSWERS = 40;
const GUESTS = 3;

/** What the log says of members, by their accounts, and of invitations: whether each has ended, and who joined with it. */
function replayed(view: WorkspaceView) {
  const members = new Map<string, string>();
  const invitations = new Map<string, { ended: boolean; usedBy: string | null }>();
  for (const { operation, details } of view.eventsAfter(-1)) {
    const said = details as { account_id: string; owner: string; role: string; invitation_id: string };
    if (operation === "workspace.create") members.set(said.owner, "owner");
    if (operation === "member.join" || operation === "member.change") members.set(said.account_id, said.role);
    if (operation === "member.remove") members.delete(said.account_id);
    if (operation === "member.invite") invitations.set(said.invitation_id, { ended: false, usedBy: null });
    if (operation === "member.uninvite") invitations.set(said.invitation_id, { ended: true, usedBy: null });
    if (operation === "member.join") invitations.set(said.invitation_id, { ended: true, usedBy: said.account_id });
  }
  return { members, invitations };
}

/** The same as the workspace's file has it. */
async function stored(view: WorkspaceView, data: string, workspaceId: string): Promise<ReturnType<typeof replayed>> {
  const { members } = await peopleIn(dataDirectory(data), workspaceId);
  const rows = view.connection.all<[string, number, string | null]>(
    "SELECT id, ended_seq IS NOT NULL, used_by FROM invitations",
  );
  return {
    members: new Map(members.map(({ accountId, role }) => [accountId, role])),
    invitations: new Map(rows.map(([id, ended, usedBy]) => [id, { ended: ended === 1, usedBy }])),
  };
}

interface Invitation {
  id: string;
  token: string;
}

async function invite(daemon: RunningDaemon, owner: Session, role: string): Promise<Invitation> {
  return (await (await owner.ask(daemon, "POST", "/invitations", { role })).json()) as Invitation;
}

async function workspacesOf(daemon: RunningDaemon, session: Session): Promise<string[]> {
  const { workspaces } = (await (await session.send(daemon, "GET", "/account")).json()) as {
    workspaces: { id: string }[];
  };
  return workspaces.map(({ id }) => id);
}

test("a daemon that is killed at any moment leaves a change of a member whole or not at all", async () => {
  using directory = temporaryDirectory();
  const data = directory.join("data");
  const random = new Seeded(SEED);
  await using python = new SecondVerifier();
  let people: { owner: Session; guests: Session[] } | null = null;
  /** The events of what was answered: none of them may be gone. */
  const recorded: string[] = [];
  let said: ReturnType<typeof replayed> | null = null;
  for (let kill = 0; kill < KILLS; kill++) {
    await using daemon = await startGovernd(data);
    if (people === null) {
      const owner = await Session.first(daemon);
      const guests: Session[] = [];
      for (let guest = 0; guest < GUESTS; guest++) {
        const { token } = await invite(daemon, owner, "member");
        guests.push(await Session.signUp(daemon, `guest-${guest}@example.com`, token));
      }
      people = { owner, guests };
    }
    const { owner, guests } = people;
    const { workspaceId } = owner;
    if (said !== null) {
      for (const guest of guests) {
        const belongs = said.members.has(guest.accountId);
        expect((await workspacesOf(daemon, guest)).includes(workspaceId)).toBe(belongs);
      }
    }
    const open: Invitation[] = [];
    // A command that runs beside the daemon must survive its end.
    const beside = Bun.sleep(random.below(200)).then(() =>
      governdProcess(["account", "link", "--workspace", workspaceId, "--data-dir", data]),
    );
    const request: Parameters<typeof killedAfter>[2] = async (answered) => {
      const done = async (response: Promise<Response>) => {
        const { isDone, auditId, json } = await answered(await response);
        if (isDone && auditId !== null) recorded.push(auditId);
        return isDone ? json : null;
      };
      const guest = random.pick(guests);
      const lot = random.below(6);
      const invitation = open.length === 0 ? null : random.pick(open);
      if (invitation === null || lot === 0) {
        const made = await done(owner.ask(daemon, "POST", "/invitations", { role: random.pick(ROLES) }));
        if (made !== null) open.push(made as unknown as Invitation);
      } else if (lot === 1) await done(owner.ask(daemon, "DELETE", `/invitations/${invitation.id}`));
      else if (lot === 2) {
        await done(owner.ask(daemon, "PUT", `/members/${guest.accountId}`, { role: random.pick(ROLES) }));
      } else if (lot === 3) await done(owner.ask(daemon, "DELETE", `/members/${guest.accountId}`));
      else await done(guest.send(daemon, "POST", "/account/invitations/accept", { token: invitation.token }));
    };
    await killedAfter(daemon, random.between(1, MOST_ANSWERS), request, beside);
    using view = new WorkspaceView(`${data}/workspaces/${workspaceId}.db`);
    said = replayed(view);
    expect(await stored(view, data, workspaceId)).toEqual(said);
    const ids = new Set(view.eventsAfter(-1).map(({ id }) => id));
    expect(recorded.filter((id) => !ids.has(id))).toEqual([]);
    const { code, out } = await governd(["verify", data]);
    expect([code, out]).toEqual([0, expect.stringContaining("Verified")]);
    if (HAS_PYTHON) expect(await python.run(data)).toMatchObject({ code: 0, codes: [] });
  }
  expect(recorded.length).toBeGreaterThan(0);
});
