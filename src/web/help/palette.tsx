/** The command palette: goes to any page, agent, workspace or event by a few letters. */
import { useContext, useEffect, useId, useState } from "preact/hooks";
import type { Agent, Page } from "../api/types.ts";
import { go, paths } from "../state/router.ts";
import { AccessContext, type WorkspaceAccess } from "../state/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { type Command, commandsOf, eventCommand, matching, type WorkspaceLink } from "./commands.ts";

/** Agents are searched for when nothing was typed for this long, ms, since each search is recorded. */
const PAUSE_MS = 250;

const MOST_AGENTS = 8;

/** The library's type of a combobox demands a list of the browser's own. */
const COMBOBOX: object = { role: "combobox", "aria-expanded": true };

interface PaletteProps {
  links: readonly WorkspaceLink[];
  onClose(): void;
}

export function Palette({ links, onClose }: PaletteProps) {
  const access = useContext(AccessContext);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const agents = useAgents(access, text.trim());
  const found = [...eventCommand(access, text.trim()), ...matching(commandsOf(access, links), text), ...agents];
  const at = Math.min(chosen, found.length - 1);
  const run = ({ to }: Command) => {
    onClose();
    if (typeof to === "function") to();
    else if (to.startsWith("/v1/")) location.assign(to);
    else go(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const command = found[at];
    if (step !== undefined) setChosen((at + step + found.length) % Math.max(found.length, 1));
    else if (event.key === "Enter" && command !== undefined) run(command);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="stack palette">
        <input
          type="search"
          {...COMBOBOX}
          aria-label="Page, agent, workspace or id of an event"
          placeholder="Page, agent, workspace or id of an event"
          aria-controls={id}
          aria-activedescendant={found.length === 0 ? undefined : `${id}-${at}`}
          autocomplete="off"
          autofocus
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div role="listbox" id={id} aria-label="Found" class="palette-list">
          {found.map((command, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and takes the keys
            <div
              key={`${command.kind} ${command.name}`}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => run(command)}
            >
              <span>{command.name}</span> <span class="faint small">{command.kind}</span>
            </div>
          ))}
        </div>
        <p class="faint small" role="status">
          {found.length === 0 ? "Nothing is called that." : ""}
        </p>
      </div>
    </Dialog>
  );
}

/** Finds the agents of a workspace with a text anywhere in their ids. */
function useAgents(access: WorkspaceAccess | null, text: string): Command[] {
  const [found, setFound] = useState<Command[]>([]);
  useEffect(() => {
    setFound([]);
    if (access === null || access.isInstallation || text.length < 2) return;
    const abandoned = new AbortController();
    const look = async () => {
      const query = { contains: text, limit: MOST_AGENTS };
      const { data } = await access.api.ask<Page<Agent>>("/v1/agents", { query, signal: abandoned.signal });
      setFound(data.map(({ agent_id: name }) => ({ name, kind: "agent", to: paths.agent(access.id, name) })));
    };
    // Without agents the palette still has everything else.
    const timer = setTimeout(() => void look().catch(() => setFound([])), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abandoned.abort();
    };
  }, [access, text]);
  return found;
}
