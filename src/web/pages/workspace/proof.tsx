/** Proving the log: verify it now, keep its seal, take an export along. */
import { useState } from "preact/hooks";
import { isCode } from "../../api/client.ts";
import type { SealingKey, Verification } from "../../api/types.ts";
import { useAction, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { CopyBlock, Digest } from "../../ui/copy.tsx";
import { download } from "../../ui/download.ts";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Heading, Section, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { Anchors } from "./anchors.tsx";
import { ExportForm } from "./export.tsx";
import { parseSeal } from "./seal-text.ts";

export function ProofPage({ room }: { room: Room }) {
  return (
    <>
      <Heading title="Proof" name="Proof">
        Show that the audit log is whole, to yourself now, and to anybody later without this daemon.
      </Heading>
      <VerifyNow room={room} />
      <NewestSeal room={room} />
      <Anchors room={room} />
      <PublicKey room={room} />
      <Section title="Export">
        <ExportForm room={room} />
      </Section>
    </>
  );
}

function VerifyNow({ room }: { room: Room }) {
  const [result, setResult] = useState<Verification | null>(null);
  const verify = useAction(async () => {
    setResult(null);
    setResult(await room.api.ask<Verification>("/v1/audit/verify", { body: { scope: "workspace" } }));
  });
  return (
    <Section title="Verify now">
      <div class="card stack">
        <p>
          Recomputes the hash of every event of every agent, the links between them, and compares the stored
          data and configurations with what the log says was written.
        </p>
        <div class="row">
          <button
            type="button"
            class="button button-primary"
            disabled={verify.busy}
            onClick={() => verify.run()}
          >
            {verify.busy ? "Verifying …" : "Verify the whole workspace"}
          </button>
        </div>
        <div role="status">{verify.busy && <progress aria-label="Verifying" />}</div>
        <Problem problem={verify.problem} />
        {result !== null && <Verdict room={room} result={result} />}
      </div>
    </Section>
  );
}

function Verdict({ room, result }: { room: Room; result: Verification }) {
  const { valid, events_checked, chain_intact, first_invalid, chain_end, verified_at } = result;
  if (valid) {
    return (
      <div class="callout callout-good" role="status">
        <p>
          <strong>Everything holds.</strong> {counted(events_checked, "event")} checked, every hash and link
          agrees, and the stored data are what was written. Checked <Time at={verified_at} />.
        </p>
        {chain_end !== null && (
          <p class="small">
            Newest event {count(chain_end.seq)}, hash <Digest text={chain_end.hash} label="newest hash" />
          </p>
        )}
      </div>
    );
  }
  return (
    <div class="callout callout-bad" role="alert">
      <p>
        <strong>It does not hold.</strong> {counted(events_checked, "event")} checked; the links are{" "}
        {chain_intact ? "whole, but contents differ" : "broken"}.
      </p>
      {first_invalid !== null && (
        <p>
          First: {first_invalid.seq !== null && <>event {count(first_invalid.seq)}, </>}
          {first_invalid.reason}{" "}
          {first_invalid.id !== null && (
            <a href={paths.event(room.workspace.id, first_invalid.id)}>Look at it</a>
          )}
        </p>
      )}
      <p>
        Do not repair anything yet: copy the data directory away first, then run <code>governd verify</code>{" "}
        on the copy, which says more.
      </p>
    </div>
  );
}

function NewestSeal({ room }: { room: Room }) {
  const seal = useLoad<string | null>(room.workspace.id, async (signal) => {
    try {
      const response = await room.api.send("/v1/audit/seal", { headers: { accept: "text/plain" }, signal });
      return await response.text();
    } catch (error) {
      if (isCode(error, "seal_not_found")) return null;
      throw error;
    }
  });
  return (
    <Section
      title="Newest seal"
      actions={
        <button type="button" class="button" onClick={seal.reload}>
          Ask again
        </button>
      }
    >
      <Show of={seal}>
        {(text) =>
          text === null ? (
            <Empty title="No seal yet">
              <p>The daemon signs the log's head a few seconds after the first event.</p>
            </Empty>
          ) : (
            <div class="card stack">
              <p>
                Signs the first <strong>{count(parseSeal(text).size)}</strong> events. Keep it away from this
                machine: from then on nobody can change or cut off what it covers unnoticed, not even who
                holds the disk and the key.
              </p>
              <CopyBlock label="Seal" text={text} />
              <div class="row">
                <button
                  type="button"
                  class="button"
                  onClick={() =>
                    download(`${room.workspace.id}-${parseSeal(text).size}.seal`, new Blob([text]))
                  }
                >
                  Save the seal
                </button>
              </div>
            </div>
          )
        }
      </Show>
    </Section>
  );
}

function PublicKey({ room }: { room: Room }) {
  const key = useLoad<SealingKey>(room.workspace.id, (signal) =>
    room.api.ask<SealingKey>("/v1/audit/key", { signal }),
  );
  return (
    <Section title="Public key">
      <Show of={key}>
        {({ verifier_key, fingerprint, origin }) => (
          <div class="card stack">
            <dl class="facts">
              <dt>Origin</dt>
              <dd>
                <code>{origin}</code>
              </dd>
              <dt>Fingerprint</dt>
              <dd>
                <code class="wrap">{fingerprint.replace(/(.{8})(?=.)/g, "$1 ")}</code>
              </dd>
            </dl>
            <CopyBlock label="Verifier key" text={verifier_key} />
            <p>Anybody checks an export with it, offline, on a machine that never saw this daemon:</p>
            <CopyBlock
              label="Offline check"
              text={`governd verify export.ndjson --public-key '${verifier_key}' --seal ${room.workspace.id}.seal`}
            />
          </div>
        )}
      </Show>
    </Section>
  );
}
