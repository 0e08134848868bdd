/** The frame around the pages of a workspace, with the navigation. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { liveState, useLiveWorkspace } from "./state/events.ts";
import { useAction } from "./state/load.ts";
import { paths } from "./state/paths.ts";
import { go, path } from "./state/router.ts";
import { type Room, session, signOut } from "./state/session.ts";
import { learnActors } from "./ui/actor.tsx";
import { Button } from "./ui/button.tsx";
import { Icon, type IconName, LogoMark } from "./ui/icon.tsx";

interface ShellProps {
  room: Room | null;
  children: ComponentChildren;
}

export function Shell({ room, children }: ShellProps) {
  const [open, setOpen] = useState(false);
  const here = path.value;
  useEffect(() => setOpen(false), [here]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="topbar">
        <Logo />
        <Button kind="icon" aria-expanded={open} aria-controls="side" aria-label="Menu" onClick={() => setOpen(!open)}>
          <Icon name={open ? "close" : "menu"} />
        </Button>
      </header>
      <aside id="side" aria-label="Ways" class={open ? "side side-open" : "side"}>
        <div class="side-inner">
          <div class="side-logo">
            <Logo />
          </div>
          {room !== null && <RoomNavigation room={room} />}
          <AccountNavigation />
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Logo() {
  return (
    <a class="logo" href="/" aria-label="governd, home">
      <LogoMark />
      governd
    </a>
  );
}

function NavLink({
  to,
  icon,
  exact = false,
  children,
}: {
  to: string;
  icon: IconName;
  exact?: boolean;
  children: string;
}) {
  const here = path.value;
  const current = here === to || (!exact && here.startsWith(`${to}/`));
  return (
    <a href={to} aria-current={current ? "page" : undefined}>
      <Icon name={icon} />
      {children}
    </a>
  );
}

function RoomNavigation({ room }: { room: Room }) {
  const { id } = room.workspace;
  useLiveWorkspace(id);
  useEffect(() => void learnActors(id), [id]);
  return (
    <>
      <WorkspaceChoice room={room} />
      <nav aria-label="Workspace">
        <NavLink to={paths.workspace(id)} icon="activity" exact>
          Overview
        </NavLink>
        <NavLink to={paths.agents(id)} icon="agents">
          Agents
        </NavLink>
        <NavLink to={paths.proof(id)} icon="proof">
          Proof
        </NavLink>
        <NavLink to={paths.trail(id)} icon="trail">
          Administration log
        </NavLink>
        <NavLink to={paths.keys(id)} icon="key">
          API keys
        </NavLink>
        <NavLink to={paths.members(id)} icon="members">
          Members
        </NavLink>
      </nav>
      <LiveMark />
    </>
  );
}

function WorkspaceChoice({ room }: { room: Room }) {
  if (session.value.kind !== "in") return null;
  const { workspaces } = session.value;
  if (workspaces.length === 1) {
    return (
      <p class="workspace-name" title={room.workspace.id}>
        {room.workspace.name}
      </p>
    );
  }
  return (
    <select
      class="workspace-choice"
      aria-label="Workspace"
      value={room.workspace.id}
      onChange={(event) => go(paths.workspace(event.currentTarget.value))}
    >
      {workspaces.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

const LIVE_WORDS = { live: "Live", connecting: "Connecting …", waiting: "Not live, trying again" } as const;

function LiveMark() {
  const state = liveState.value;
  return <p class={`live live-${state}`}>{LIVE_WORDS[state]}</p>;
}

function AccountNavigation() {
  const leave = useAction(async () => {
    await signOut();
    go("/sign-in");
  });
  if (session.value.kind !== "in") return null;
  const { account } = session.value;
  return (
    <nav class="side-foot" aria-label="Account">
      <a href="/v1/docs">
        <Icon name="docs" />
        API documentation
      </a>
      <NavLink to="/workspaces" icon="folder" exact>
        Workspaces
      </NavLink>
      <NavLink to="/settings" icon="user">
        {account.name}
      </NavLink>
      <button type="button" class="side-button" disabled={leave.busy} onClick={() => leave.run()}>
        <Icon name="back" />
        Sign out
      </button>
    </nav>
  );
}
