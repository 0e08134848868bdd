/** The choice of the workspace, in the navigation. */
import { useRef, useState } from "preact/hooks";
import { go, paths } from "./state/router.ts";
import { session, type WorkspaceAccess } from "./state/session.ts";

export function WorkspaceChoice({ access }: { access: WorkspaceAccess }) {
  if (session.value.kind !== "in") return null;
  const { workspaces } = session.value;
  if (workspaces.length === 1 || access.isInstallation) {
    return (
      <p class="workspace-choice" title={access.id}>
        {access.name}
      </p>
    );
  }
  return <Choice key={access.id} access={access} workspaces={workspaces} />;
}

interface ChoiceProps {
  access: WorkspaceAccess;
  workspaces: readonly { id: string; name: string }[];
}

/**
 * A list that opens a workspace when the choice is made: with the mouse, by Enter in the open list, and by Enter on a
 * closed list, whose choice moves with each arrow or letter.
 */
function Choice({ access, workspaces }: ChoiceProps) {
  const [shown, setShown] = useState(access.id);
  const isMoving = useKeyTask();
  const name = workspaces.find(({ id }) => id === shown)?.name;
  return (
    <div>
      <select
        class="workspace-choice"
        aria-label="Workspace"
        aria-describedby="workspace-choice"
        value={shown}
        onKeyDown={(event) => {
          if (event.key === "Escape") setShown(access.id);
          if (event.key !== "Enter" || shown === access.id) return isMoving.begin(event.key);
          event.preventDefault();
          go(paths.workspace(shown));
        }}
        onKeyPress={(event) => isMoving.begin(event.key)}
        onBlur={() => setShown(access.id)}
        onChange={({ currentTarget: { value } }) => {
          setShown(value);
          if (!isMoving.now() && value !== access.id) go(paths.workspace(value));
        }}
      >
        {workspaces.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </select>
      <p class="small" id="workspace-choice" role="status">
        {shown !== access.id && `Enter opens ${name}.`}
      </p>
    </div>
  );
}

/**
 * Tells whether a change comes from a key that moves the choice of a closed list. The browser makes such a change while
 * it handles the key. One that is made in an open list comes later, even if a key opened it.
 */
function useKeyTask() {
  const isKey = useRef(false);
  return {
    begin(key: string): void {
      // In some browsers, this key makes the choice in an open list.
      if (key === "Enter") return;
      isKey.current = true;
      setTimeout(() => {
        isKey.current = false;
      });
    },
    now: () => isKey.current,
  };
}
