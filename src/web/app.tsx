/** Chooses the page for an address. */
import type { ComponentChildren, FunctionComponent } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { address } from "./api/client.ts";
import { asProblem } from "./api/problem.ts";
import { SettingsPage } from "./pages/account/settings.tsx";
import { ResetPage, SignInAgain, SignInPage } from "./pages/account/sign-in.tsx";
import { JoinPage, SignUpPage } from "./pages/account/sign-up.tsx";
import { WorkspacesPage } from "./pages/account/workspaces.tsx";
import { AGENT_TABS, AgentPage } from "./pages/agent/agent.tsx";
import { TrailPage } from "./pages/agent/audit.tsx";
import { CheckpointView } from "./pages/agent/checkpoint.tsx";
import { CompareView } from "./pages/agent/compare.tsx";
import { EventPage } from "./pages/agent/event.tsx";
import { HistoryView } from "./pages/agent/history/history.tsx";
import { LineagePage } from "./pages/lineage/lineage.tsx";
import { POLICY_TABS, PoliciesPage } from "./pages/policies/policies.tsx";
import { SinksPage } from "./pages/sinks/sinks.tsx";
import { WorkspaceTrailPage } from "./pages/trail/trail.tsx";
import { AgentsPage } from "./pages/workspace/agents.tsx";
import { KeysPage } from "./pages/workspace/keys.tsx";
import { MembersPage } from "./pages/workspace/members.tsx";
import { OverviewPage } from "./pages/workspace/overview.tsx";
import { ProofPage } from "./pages/workspace/proof.tsx";
import { Shell } from "./shell.tsx";
import { go, match, path, paths, place } from "./state/router.ts";
import { AccessContext, accessTo, loadSession, session, type WorkspaceAccess } from "./state/session.ts";
import { Button } from "./ui/button.tsx";
import { Notices } from "./ui/notices.tsx";
import { Empty, Heading, Problem, Waiting } from "./ui/parts.tsx";

type Parts = Record<string, string>;

const agentPage = (agentId: string, view: ComponentChildren) => <AgentPage agentId={agentId}>{view}</AgentPage>;

const AGENT = "/workspaces/:workspace/agents/:agent";

/** Pages of a workspace. No two patterns match the same address, so the order does not matter. */
const ROOM_PAGES: readonly (readonly [pattern: string, page: (parts: Parts) => ComponentChildren])[] = [
  ["/workspaces/:workspace", () => <OverviewPage />],
  ["/workspaces/:workspace/agents", () => <AgentsPage />],
  ...AGENT_TABS.map(([end, , View]) => {
    const page = ({ agent = "" }: Parts) => agentPage(agent, <View key={agent} agentId={agent} />);
    return [`${AGENT}${end}`, page] as const;
  }),
  [
    `${AGENT}/checkpoints/:checkpoint`,
    ({ agent = "", checkpoint = "" }) =>
      agentPage(agent, <CheckpointView key={agent} agentId={agent} checkpointId={checkpoint} />),
  ],
  [`${AGENT}/data/history`, ({ agent = "" }) => agentPage(agent, <HistoryView key={agent} agentId={agent} />)],
  [`${AGENT}/compare`, ({ agent = "" }) => agentPage(agent, <CompareView key={agent} agentId={agent} />)],
  ...POLICY_TABS.map(([end, , View]) => {
    const page = () => (
      <PoliciesPage>
        <View />
      </PoliciesPage>
    );
    return [`/workspaces/:workspace/policies${end}`, page] as const;
  }),
  ["/workspaces/:workspace/events/:event", ({ event = "" }) => <EventPage eventId={event} />],
  ["/workspaces/:workspace/events/:event/lineage", ({ event = "" }) => <LineagePage eventId={event} />],
  ["/workspaces/:workspace/events", () => <WorkspaceTrailPage />],
  ["/workspaces/:workspace/trail", () => <TrailPage />],
  ["/workspaces/:workspace/proof", () => <ProofPage />],
  ["/workspaces/:workspace/keys", () => <KeysPage />],
  ["/workspaces/:workspace/members", () => <MembersPage />],
  ["/workspaces/:workspace/sinks", () => <SinksPage />],
];

/** Pages that need no session. */
const SIGNED_OUT_PAGES: Record<string, FunctionComponent> = {
  "/sign-in": SignInPage,
  "/sign-up": SignUpPage,
  "/join": JoinPage,
  "/reset": ResetPage,
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
    <main class="signed-out">
      <Problem problem={asProblem(error)}>
        <Button onClick={() => location.reload()}>Load the page again</Button>
      </Problem>
    </main>
  );
}

function Place() {
  const here = path.value;
  const SignedOutPage = SIGNED_OUT_PAGES[here];
  const state = session.value;
  if (state.kind === "unknown") return <Waiting />;
  if (state.kind === "failed") {
    return (
      <div class="signed-out">
        <Problem problem={state.problem}>
          <Button onClick={() => void loadSession()}>Try again</Button>
        </Problem>
      </div>
    );
  }
  if (SignedOutPage !== undefined) return <SignedOutPage />;
  if (state.kind === "out") return <ToSignIn />;
  return (
    <>
      <Inside here={here} />
      {state.ended && <SignInAgain account={state.account} />}
    </>
  );
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
let lastWorkspaceId: string | null = null;

function lastWorkspace(): WorkspaceAccess | null {
  if (session.value.kind !== "in") return null;
  const id = lastWorkspaceId ?? session.value.workspaces[0]?.id;
  const access = id === undefined ? null : accessTo(id);
  return access?.locked === true ? null : access;
}

function Inside({ here }: { here: string }) {
  if (here === "/") return <Home />;
  if (here === "/settings") return inside(lastWorkspace(), <SettingsPage />);
  if (here === "/workspaces") return inside(lastWorkspace(), <WorkspacesPage />);
  for (const [pattern, page] of ROOM_PAGES) {
    const parts = match(pattern, here);
    if (parts === null) continue;
    const access = accessTo(parts.workspace ?? "");
    if (access === null) break;
    if (access.locked) return inside(null, <Locked name={access.name} />);
    lastWorkspaceId = access.id;
    return inside(access, page(parts));
  }
  return inside(null, <NotHere />);
}

/** Returns a page in the frame of its workspace. Another workspace starts from nothing. */
const inside = (access: WorkspaceAccess | null, page: ComponentChildren) => (
  <AccessContext.Provider key={access?.id} value={access}>
    <Shell>{page}</Shell>
  </AccessContext.Provider>
);

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

function Locked({ name }: { name: string }) {
  return (
    <>
      <Heading title={name} />
      <Empty title="This workspace requires a second factor">
        <p>Your account has none. Turn one on, and the workspace opens.</p>
        <p>
          <a class="button button-primary" href="/settings">
            Go to your account
          </a>
        </p>
      </Empty>
    </>
  );
}

function NotHere() {
  return (
    <>
      <Heading title="Nothing here" />
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
