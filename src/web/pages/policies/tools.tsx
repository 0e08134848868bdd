/** The tools for policies before they are saved, and elsewhere. They are beside the form, not in it. */
import { ifComplete } from "../../api/problem.ts";
import { useAccess } from "../../state/session.ts";
import { DialogButton } from "../../ui/dialog.tsx";
import { ApplyDialog } from "./apply.tsx";
import type { Edited } from "./edited.ts";
import { Playground } from "./playground.tsx";
import { Replay } from "./replay.tsx";

export function PolicyTools({ edited }: { edited: Edited }) {
  const { canRead, canWrite } = useAccess();
  if (!canRead && !canWrite) return null;
  return (
    <aside class="policy-tools" aria-label="Tools">
      {canRead && <Playground edited={edited} />}
      {canRead && <Replay edited={edited} />}
      {canWrite && <Apply edited={edited} />}
    </aside>
  );
}

function Apply({ edited }: { edited: Edited }) {
  const policies = ifComplete(edited.policies);
  return (
    <section class="card stack" aria-label="Apply to agents">
      <div class="section-head">
        <h2>Apply to agents</h2>
        <DialogButton disabled={policies === null} dialog={policies !== null && <ApplyDialog policies={policies} />}>
          Apply …
        </DialogButton>
      </div>
      <p class="faint small">
        Puts parts of the policies in the form into the configurations of agents that you choose.
      </p>
    </section>
  );
}
