/** The commands of the palette: places, found by the words of their names, and the theme. */
import { paths } from "../state/router.ts";
import { session, type WorkspaceAccess } from "../state/session.ts";
import { chooseTheme, THEMES } from "../state/theme.ts";

export interface Command {
  name: string;
  /** The kind of thing that the command opens. */
  kind: "page" | "agent" | "workspace" | "event" | "theme";
  /** An address, or a function. */
  to: string | (() => void);
}

/** A page of a workspace as the navigation has it. */
export type WorkspaceLink = readonly [to: (access: string) => string, icon: string, name: string];

/** Returns the commands in a workspace, or outside of all workspaces, without agents. */
export function commandsOf(access: WorkspaceAccess | null, links: readonly WorkspaceLink[]): Command[] {
  const pages =
    access === null ? [] : links.map(([to, , name]) => ({ name, kind: "page", to: to(access.id) }) as const);
  const workspaces = session.value.kind === "in" ? session.value.workspaces : [];
  return [
    ...pages,
    { name: "Your account", kind: "page", to: "/settings" },
    { name: "Workspaces", kind: "page", to: "/workspaces" },
    { name: "API documentation", kind: "page", to: "/v1/docs" },
    ...workspaces
      .filter(({ id }) => id !== access?.id)
      .map(({ id, name }) => ({ name, kind: "workspace", to: paths.workspace(id) }) as const),
    ...THEMES.map((theme) => ({ name: `Theme: ${theme}`, kind: "theme", to: () => chooseTheme(theme) }) as const),
  ];
}

/** Returns the event that a text is the id of. */
export const eventCommand = (access: WorkspaceAccess | null, text: string): Command[] =>
  access !== null && /^aud_[a-z0-9]+$/.test(text)
    ? [{ name: text, kind: "event", to: paths.event(access.id, text) }]
    : [];

/** Returns the commands whose names contain each word of a text. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}
