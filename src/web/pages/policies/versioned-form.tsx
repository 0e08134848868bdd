/** The form around something that has versions. After a conflict it shows both sides, and what was typed stays. */
import type { ComponentChildren } from "preact";
import { ifComplete } from "../../api/problem.ts";
import type { AnyVersion, Editor } from "../../state/versioned.ts";
import { Button } from "../../ui/button.tsx";
import { Diff } from "../../ui/diff/diff.tsx";
import { FormProblem } from "../../ui/field.tsx";
import { Actor, Time } from "../../ui/inline.tsx";
import { readableJson } from "../../ui/json-text.ts";
import { Problem } from "../../ui/parts.tsx";

interface Props<V extends AnyVersion, D> {
  of: Editor<V, D>;
  /** Says that nothing was saved yet. */
  none: string;
  mayEdit: boolean;
  /** Shown to people who may not edit. */
  readOnly: string;
  children: ComponentChildren;
}

export function VersionedForm<V extends AnyVersion, D>({ of, none, mayEdit, readOnly, children }: Props<V, D>) {
  const { base, changed, newer, save, theirs, take } = of;
  const isConflict = theirs !== null;
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save.run(base.version);
      }}
    >
      <p class="faint">{base.version === null ? none : <InForce version={base} />}</p>
      {newer !== null && !isConflict && (
        <div class="callout tone-warn row" role="status">
          <span>
            <strong>{newer}</strong> was saved in the meantime
            {changed ? "; what you typed is still here." : "."}
          </span>
          <Button onClick={() => take.run()}>Show {newer}</Button>
        </div>
      )}
      <FormProblem.Provider value={isConflict ? null : save.problem}>{children}</FormProblem.Provider>
      {isConflict ? <Conflict of={of} theirs={theirs} /> : !save.problem?.isInput && <Problem problem={save.problem} />}
      <Problem problem={take.problem} />
      {mayEdit ? (
        <div class={changed ? "row form-foot form-foot-changed" : "row form-foot"}>
          <button
            type="submit"
            class="button button-primary"
            disabled={save.busy || (!changed && base.version !== null)}
          >
            Save as a new version
          </button>
          {changed && (
            <>
              <Button onClick={() => of.start(base)}>Discard changes</Button>
              <span class="faint small">Not saved yet</span>
            </>
          )}
        </div>
      ) : (
        <p class="faint">{readOnly}</p>
      )}
    </form>
  );
}

function InForce({ version }: { version: AnyVersion & { rolled_back_from?: string | null } }) {
  const { created_at: at, created_by: by, rolled_back_from: from = null } = version;
  return (
    <>
      <strong>{version.version}</strong> in force
      {at !== null && (
        <>
          , saved <Time at={at} />
        </>
      )}
      {by !== null && (
        <>
          {" "}
          by <Actor id={by} />
        </>
      )}
      {from !== null && <> (rolled back to {from})</>}
    </>
  );
}

/** After 412 because somebody else saved first: the user decides. */
function Conflict<V extends AnyVersion, D>({ of, theirs }: { of: Editor<V, D>; theirs: V }) {
  const { what, draft, save, take } = of;
  const mine = ifComplete(() => readableJson(what.bodyOf(draft)));
  return (
    <div class="callout tone-warn stack" role="alert">
      <p>
        <strong>
          {theirs.created_by === null ? "Somebody" : <Actor id={theirs.created_by} />} saved {theirs.version} in the
          meantime.
        </strong>{" "}
        Nothing was overwritten, and what you typed is still here.
      </p>
      {mine !== null && (
        <Diff
          before={readableJson(what.contentOf(theirs))}
          after={mine}
          beforeName={`${theirs.version}, in force`}
          afterName="Yours"
        />
      )}
      <div class="row">
        <Button onClick={() => take.run()}>Take {theirs.version}, drop mine</Button>
        <Button kind="danger" onClick={() => save.run(theirs.version)}>
          Save mine over {theirs.version}
        </Button>
      </div>
    </div>
  );
}
