/** The frame around the pages of a workspace, with the navigation. */
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { Keyboard } from "./help/keyboard.tsx";
import { broken, looked, refused, useAlerts } from "./state/alerts.ts";
import { liveState, useAction, useLiveWorkspace } from "./state/load.ts";
import { go, isCurrent, path, paths } from "./state/router.ts";
import { AccessContext, session, signOut, type WorkspaceAccess } from "./state/session.ts";
import { chooseTheme, THEMES, theme } from "./state/theme.ts";
import { useTitle } from "./state/title.ts";
import { Button } from "./ui/button.tsx";
import { Icon, type IconName, LogoMark } from "./ui/icon.tsx";
import { learnActors } from "./ui/inline.tsx";
import { counted } from "./ui/numbers.ts";
import { WorkspaceChoice } from "./workspace-choice.tsx";

export function Shell({ children }: { children: ComponentChildren }) {
  const access = useContext(AccessContext);
  const [open, setOpen] = useState(false);
  const here = path.value;
  useTitle("workspace", access?.name ?? null);
  useEffect(() => setOpen(false), [here]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="topbar">
        <Logo />
        {access !== null && <Alerts access={access} />}
        <Button kind="icon" aria-expanded={open} aria-controls="side" aria-label="Menu" onClick={() => setOpen(!open)}>
          <Icon name={open ? "close" : "menu"} />
        </Button>
      </header>
      <aside id="side" aria-label="Ways" class={open ? "side side-open" : "side"}>
        <div class="side-inner">
          <div class="side-logo">
            <Logo />
          </div>
          {access !== null && <WorkspaceNavigation access={access} />}
          <AccountNavigation />
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Keyboard links={access === null ? [] : linksOf(access)} />
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

const ROOM_LINKS: readonly (readonly [to: (access: string) => string, icon: IconName, name: string])[] = [
  [paths.workspace, "activity", "Overview"],
  [paths.agents, "agents", "Agents"],
  [(access) => paths.events(access), "activity", "Trail"],
  [paths.policies, "policies", "Policies"],
  [paths.proof, "proof", "Proof"],
  [paths.trail, "trail", "Administration log"],
  [paths.keys, "key", "API keys"],
  [paths.members, "members", "Members"],
  [paths.sinks, "sinks", "Sinks"],
];

const INSTALLATION_LINKS: typeof ROOM_LINKS = [
  [paths.trail, "trail", "Installation log"],
  [paths.proof, "proof", "Proof"],
];

const linksOf = ({ isInstallation }: WorkspaceAccess) => (isInstallation ? INSTALLATION_LINKS : ROOM_LINKS);

function WorkspaceNavigation({ access }: { access: WorkspaceAccess }) {
  const { id, isInstallation } = access;
  useLiveWorkspace(id);
  useAlerts();
  useEffect(() => {
    if (!isInstallation) void learnActors(id);
  }, [id, isInstallation]);
  return (
    <>
      <WorkspaceChoice access={access} />
      <nav aria-label="Workspace">
        {linksOf(access).map(([to, icon, name]) => (
          <NavLink key={name} to={to(id)} icon={icon} exact={to === paths.workspace}>
            {name}
          </NavLink>
        ))}
      </nav>
      <p class={`live live-${liveState.value}`}>{LIVE_WORDS[liveState.value]}</p>
      <Alerts access={access} />
    </>
  );
}

/** The things that somebody should look at, since this tab was opened or they last looked. */
function Alerts({ access: { id } }: { access: WorkspaceAccess }) {
  return (
    <div class="alerts" role="status">
      {broken.value !== null && (
        <a class="badge tone-bad" href={paths.event(id, broken.value)}>
          A proof does not hold
        </a>
      )}
      {refused.value > 0 && (
        <a class="badge tone-bad" href={paths.agents(id)} onClick={looked}>
          {counted(refused.value, "write")} refused
        </a>
      )}
    </div>
  );
}

const LIVE_WORDS = { live: "Live", connecting: "Connecting …", waiting: "Not live, trying again" } as const;

function ThemeChoice() {
  return (
    <fieldset class="segments theme">
      <legend class="sr-only">Theme</legend>
      {THEMES.map((name) => (
        <button key={name} type="button" aria-pressed={name === theme.value} onClick={() => chooseTheme(name)}>
          {name}
        </button>
      ))}
    </fieldset>
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
      <ThemeChoice />
      <button type="button" class="side-button" disabled={leave.busy} onClick={() => leave.run()}>
        <Icon name="back" />
        Sign out
      </button>
    </nav>
  );
}
