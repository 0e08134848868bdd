/** An earlier moment of an agent's data: choosing it, its state, and what differs from now. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { WorkspaceApi } from "../../api/client.ts";
import type { EntryItem, EntryList } from "../../api/types.ts";
import { useAsk, useLoad } from "../../state/load.ts";
import { paths, setQuery } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Badge, ExactTime, type Tone } from "../../ui/inline.tsx";
import { instant, localTime } from "../../ui/local-time.ts";
import { count, counted } from "../../ui/numbers.ts";
import { Section, Show } from "../../ui/parts.tsx";

/** The entries of each of the two states that are compared. */
const MOST = 10_000;
/** The largest page of the API. */
const PAGE_SIZE = 1_000;

/** Chooses the moment whose state is shown: `at` in the address, in any form of the parameter `as_of`. */
export function MomentChoice({ at }: { at: string | null }) {
  // An event or a checkpoint is no time.
  const time = at === null || Number.isNaN(Date.parse(at)) ? null : at;
  const [typed, setTyped] = useState(localTime(time));
  useEffect(() => setTyped(localTime(time)), [time]);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ at: instant(typed) ?? null, search: null });
      }}
    >
      <input
        type="datetime-local"
        aria-label="State at"
        required
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Show this time
      </button>
      {at !== null && <Button onClick={() => setQuery({ at: null })}>Back to now</Button>}
    </form>
  );
}

interface MomentProps {
  agentId: string;
  at: string;
}

/** Says which moment is shown, and what differs from now; below it what there was, once the moment is found. */
export function AtMoment({ agentId, at, children }: MomentProps & { children: ComponentChildren }) {
  const found = useAsk<EntryList>("/v1/data/list", { query: { agent_id: agentId, limit: 1, as_of: at } });
  const [isCompared, setCompared] = useState(false);
  useEffect(() => setCompared(false), [at]);
  return (
    <Show of={found}>
      {({ as_of: moment }) => (
        <>
          {moment !== undefined && (
            <div class="callout tone-warn row" role="status">
              <span>
                The state of <ExactTime at={moment.timestamp} />, right after event {count(moment.seq)}. What has
                expired or was erased since is not shown.
              </span>
              {!isCompared && <Button onClick={() => setCompared(true)}>What differs from now</Button>}
            </div>
          )}
          {isCompared && <Differences agentId={agentId} at={at} />}
          {children}
        </>
      )}
    </Show>
  );
}

type Difference = { key: string; kind: "added since" | "changed since" | "gone since" };

const TONES: Readonly<Record<Difference["kind"], Tone>> = {
  "added since": "good",
  "changed since": "accent",
  "gone since": "bad",
};

function Differences({ agentId, at }: MomentProps) {
  const { id, api } = useAccess();
  const found = useLoad(JSON.stringify([agentId, at]), (signal) => differences(api, { agentId, at }, signal));
  return (
    <Section title="Differences from now">
      <Show of={found}>
        {(changed) =>
          changed === null ? (
            <p>There are more than {count(MOST)} entries, too many to compare here.</p>
          ) : changed.length === 0 ? (
            <p>Nothing differs.</p>
          ) : (
            <>
              <p>{counted(changed.length, "entry differs", "entries differ")}.</p>
              <ul class="changes">
                {changed.map(({ key, kind }) => (
                  <li key={key}>
                    <a href={paths.history(id, agentId, key)}>
                      <code>{key}</code>
                    </a>{" "}
                    <Badge tone={TONES[kind]}>{kind}</Badge>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Show>
    </Section>
  );
}

/** Returns the keys whose entry is another one now than at a moment; null when there are too many entries. */
async function differences(
  api: WorkspaceApi,
  { agentId, at }: MomentProps,
  signal: AbortSignal,
): Promise<Difference[] | null> {
  const [then, now] = await Promise.all([versionsOf(api, agentId, at, signal), versionsOf(api, agentId, null, signal)]);
  if (then === null || now === null) return null;
  const keys = [...new Set([...then.keys(), ...now.keys()])].sort();
  return keys.flatMap((key): Difference[] => {
    const [before, after] = [then.get(key), now.get(key)];
    if (before === after) return [];
    return [{ key, kind: before === undefined ? "added since" : after === undefined ? "gone since" : "changed since" }];
  });
}

/** Returns the version of each entry; null when there are too many. */
async function versionsOf(
  api: WorkspaceApi,
  agentId: string,
  at: string | null,
  signal: AbortSignal,
): Promise<Map<string, string> | null> {
  const versions = new Map<string, string>();
  const query = { agent_id: agentId, limit: PAGE_SIZE, as_of: at ?? undefined };
  for await (const { data } of api.pages<EntryItem>("/v1/data/list", query, signal)) {
    for (const { key, audit_id } of data) versions.set(key, audit_id);
    if (versions.size > MOST) return null;
  }
  return versions;
}
