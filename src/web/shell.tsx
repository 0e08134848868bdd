/** The frame around the pages of a workspace, with the navigation. */
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { liveState, useAction, useLiveWorkspace } from "./state/load.ts";
import { go, isCurrent, path, paths } from "./state/router.ts";
import { type Room, RoomContext, session, signOut } from "./state/session.ts";
import { useTitle } from "./state/title.ts";
import { Button } from "./ui/button.tsx";
import { Icon, type IconName, LogoMark } from "./ui/icon.tsx";
import { learnActors } from "./ui/inline.tsx";

export function Shell({ children }: { children: ComponentChildren }) {
  const room = useContext(RoomContext);
  const [open, setOpen] = useState(false);
  const here = path.value;
  useTitle("workspace", room?.name ?? null);
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

interface NavLinkProps {
  to: string;
  icon: IconName;
  exact?: boolean;
  children: string;
}

function NavLink({ to, icon, exact = false, children }: NavLinkProps) {
  return (
    <a href={to} aria-current={isCurrent(to, exact) ? "page" : undefined}>
      <Icon name={icon} />
      {children}
    </a>
  );
}

const ROOM_LINKS: readonly (readonly [to: (room: string) => string, icon: IconName, name: string])[] = [
  [paths.workspace, "activity", "Overview"],
  [paths.agents, "agents", "Agents"],
  [(room) => paths.events(room), "activity", "Trail"],
  [paths.policies, "policies", "Policies"],
  [paths.proof, "proof", "Proof"],
  [paths.trail, "trail", "Administration log"],
  [paths.keys, "key", "API keys"],
  [paths.members, "members", "Members"],
];

const INSTALLATION_LINKS: typeof ROOM_LINKS = [
  [paths.trail, "trail", "Installation log"],
  [paths.proof, "proof", "Proof"],
];

function RoomNavigation({ room }: { room: Room }) {
  const { id, isInstallation } = room;
  useLiveWorkspace(id);
  useEffect(() => {
    if (!isInstallation) void learnActors(id);
  }, [id, isInstallation]);
  return (
    <>
      <WorkspaceChoice room={room} />
      <nav aria-label="Workspace">
        {(isInstallation ? INSTALLATION_LINKS : ROOM_LINKS).map(([to, icon, name]) => (
          <NavLink key={name} to={to(id)} icon={icon} exact={to === paths.workspace}>
            {name}
          </NavLink>
        ))}
      </nav>
      <p class={`live live-${liveState.value}`}>{LIVE_WORDS[liveState.value]}</p>
    </>
  );
}

const LIVE_WORDS = { live: "Live", connecting: "Connecting …", waiting: "Not live, trying again" } as const;

function WorkspaceChoice({ room }: { room: Room }) {
  if (session.value.kind !== "in") return null;
  const { workspaces } = session.value;
  if (workspaces.length === 1 || room.isInstallation) {
    return (
      <p class="workspace-choice" title={room.id}>
        {room.name}
      </p>
    );
  }
  return (
    <select
      class="workspace-choice"
      aria-label="Workspace"
      value={room.id}
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

function AccountNavigation() {
  const leave = useAction(async () => {
    await signOut();
    go("/sign-in");
  });
  if (session.value.kind !== "in") return null;
  const { account, installation } = session.value;
  return (
    <nav class="side-foot" aria-label="Account">
      {installation !== null && !isCurrent(paths.workspace(installation.id)) && (
        <NavLink to={paths.trail(installation.id)} icon="trail">
          Installation log
        </NavLink>
      )}
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
