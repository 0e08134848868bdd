/** What can be tried before policies are saved. It stands beside the form, not in it. */
import { useRoom } from "../../state/session.ts";
import type { Edited } from "./edited.ts";
import { Playground } from "./playground.tsx";
import { Replay } from "./replay.tsx";

export function PolicyTools({ edited }: { edited: Edited }) {
  const { canRead } = useRoom();
  if (!canRead) return null;
  return (
    <aside class="policy-tools" aria-label="Before you save">
      <Playground edited={edited} />
      <Replay edited={edited} />
    </aside>
  );
}
