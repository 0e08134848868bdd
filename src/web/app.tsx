/** Chooses the page for an address. */
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { address } from "./api/client.ts";
import { asProblem } from "./api/problem.ts";
import { JoinPage } from "./pages/account/join.tsx";
import { ResetPage } from "./pages/account/reset.tsx";
import { SettingsPage } from "./pages/account/settings.tsx";
import { SignInPage } from "./pages/account/sign-in.tsx";
import { SignUpPage } from "./pages/account/sign-up.tsx";
import { WorkspacesPage } from "./pages/account/workspaces.tsx";
import { AgentPage } from "./pages/agent/agent.tsx";
import { TrailPage } from "./pages/agent/audit.tsx";
import { EventPage } from "./pages/agent/event.tsx";
import { AgentsPage } from "./pages/workspace/agents.tsx";
import { KeysPage } from "./pages/workspace/keys.tsx";
import { MembersPage } from "./pages/workspace/members.tsx";
import { OverviewPage } from "./pages/workspace/overview.tsx";
import { ProofPage } from "./pages/workspace/proof.tsx";
import { Shell } from "./shell.tsx";
import { paths } from "./state/paths.ts";
import { go, match, path, place } from "./state/router.ts";
import { loadSession, type Room, roomOf, session } from "./state/session.ts";
import { Button } from "./ui/button.tsx";
import { Notices } from "./ui/notices.tsx";
import { Empty, Heading, Waiting } from "./ui/parts.tsx";
import { Problem } from "./ui/problem.tsx";

type Parts = Record<string, string>;

/** Pages of a workspace. No two patterns match the same address, so the order does not matter. */
const ROOM_PAGES: readonly (readonly [pattern: string, page: (room: Room, parts: Parts) => ComponentChildren])[] = [
  ["/workspaces/:workspace", (room) => <OverviewPage room={room} />],
  ["/workspaces/:workspace/agents", (room) => <AgentsPage room={room} />],
  ["/workspaces/:workspace/agents/:agent", (room, parts) => <AgentPage room={room} parts={parts} tab="config" />],
  ...(["versions", "data", "checkpoints", "audit"] as const).map(
    (tab) =>
      [
        `/workspaces/:workspace/agents/:agent/${tab}`,
        (room: Room, parts: Parts) => <AgentPage room={room} parts={parts} tab={tab} />,
      ] as const,
  ),
  [
    "/workspaces/:workspace/agents/:agent/checkpoints/:checkpoint",
    (room, parts) => <AgentPage room={room} parts={parts} tab="checkpoint" />,
  ],
  ["/workspaces/:workspace/events/:event", (room, parts) => <EventPage room={room} eventId={parts.event ?? ""} />],
  ["/workspaces/:workspace/trail", (room) => <TrailPage room={room} />],
  ["/workspaces/:workspace/proof", (room) => <ProofPage room={room} />],
  ["/workspaces/:workspace/keys", (room) => <KeysPage room={room} />],
  ["/workspaces/:workspace/members", (room) => <MembersPage room={room} />],
];

/** Pages that need no session. */
const DOORS: Record<string, () => ComponentChildren> = {
  "/sign-in": () => <SignInPage />,
  "/sign-up": () => <SignUpPage />,
  "/join": () => <JoinPage />,
  "/reset": () => <ResetPage />,
};

export function App() {
  return (
    <>
      <Guarded />
      <Notices />
    </>
  );
}

/** After a defect of the dashboard, shows a message instead of half a page. */
function Guarded() {
  const [error] = useErrorBoundary();
  if (error === undefined) return <Place />;
  return (
    <main class="door">
      <Problem problem={asProblem(error)}>
        <Button onClick={() => location.reload()}>Load the page again</Button>
      </Problem>
    </main>
  );
}

function Place() {
  const here = path.value;
  const door = DOORS[here];
  const state = session.value;
  if (state.kind === "unknown") return <Waiting />;
  if (state.kind === "failed") {
    return (
      <div class="door">
        <Problem problem={state.problem}>
          <Button onClick={() => void loadSession()}>Try again</Button>
        </Problem>
      </div>
    );
  }
  if (door !== undefined) return door();
  if (state.kind === "out") return <ToSignIn />;
  return <Inside here={here} />;
}

/** Goes to the sign-in page, which returns to this address. */
function ToSignIn() {
  useEffect(() => {
    const { path: here, query } = place.peek();
    const back = here === "/" ? null : address(here, Object.fromEntries(query));
    go(address("/sign-in", { next: back }), { replace: true });
  }, []);
  return null;
}

/** The workspace that was open last, for the navigation on pages that belong to none. */
let lastRoomId: string | null = null;

function lastRoom(): Room | null {
  if (session.value.kind !== "in") return null;
  const id = lastRoomId ?? session.value.workspaces[0]?.id;
  return id === undefined ? null : roomOf(id);
}

function Inside({ here }: { here: string }) {
  if (here === "/") return <Home />;
  if (here === "/settings" || here === "/workspaces") {
    return <Shell room={lastRoom()}>{here === "/settings" ? <SettingsPage /> : <WorkspacesPage />}</Shell>;
  }
  for (const [pattern, page] of ROOM_PAGES) {
    const parts = match(pattern, here);
    if (parts === null) continue;
    const room = roomOf(parts.workspace ?? "");
    if (room === null) break;
    lastRoomId = room.workspace.id;
    return <Shell room={room}>{page(room, parts)}</Shell>;
  }
  return (
    <Shell room={null}>
      <NotHere />
    </Shell>
  );
}

/** The start page: goes to the only workspace, or to the list of them. */
function Home() {
  const state = session.value;
  useEffect(() => {
    if (state.kind !== "in") return;
    const [only, ...others] = state.workspaces;
    go(only !== undefined && others.length === 0 ? paths.workspace(only.id) : "/workspaces", { replace: true });
  }, [state]);
  return null;
}

function NotHere() {
  return (
    <>
      <Heading title="Nothing here" name="Nothing here" />
      <Empty title="This address leads nowhere">
        <p>The page may be one of a workspace that you are not a member of, or the address is incomplete.</p>
        <p>
          <a class="button" href="/">
            Go to your workspaces
          </a>
        </p>
      </Empty>
    </>
  );
}
