/** Proving the log: verifying it, and saving its seal, its key and an export. */
import { useState } from "preact/hooks";
import { isCode } from "../../api/client.ts";
import type { SealingKey, Verification } from "../../api/types.ts";
import { useAction, useAsk, useLoad } from "../../state/load.ts";
import { paths } from "../../state/paths.ts";
import type { Room } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock, Digest } from "../../ui/copy.tsx";
import { download } from "../../ui/download.ts";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Fact, Heading, Section, Show } from "../../ui/parts.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { Anchors } from "./anchors.tsx";
import { ExportForm } from "./export.tsx";
import { parseSeal } from "./seal-text.ts";

export function ProofPage({ room }: { room: Room }) {
  return (
    <>
      <Heading title="Proof" name="Proof">
        Check that the audit log is complete and unchanged, here or later without this daemon.
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
          Recomputes the hash of every event of every agent, the links between them, and compares the stored data and
          configurations with what the log says was written.
        </p>
        <div class="row">
          <Button kind="primary" action={verify}>
            {verify.busy ? "Verifying …" : "Verify the whole workspace"}
          </Button>
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
          <strong>Everything holds.</strong> {counted(events_checked, "event")} checked, every hash and link agrees, and
          the stored data are what was written. Checked <Time at={verified_at} />.
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
          {first_invalid.id !== null && <a href={paths.event(room.workspace.id, first_invalid.id)}>Look at it</a>}
        </p>
      )}
      <p>
        Do not repair anything yet. First copy the data directory, then run <code>governd verify</code> on the copy,
        which reports more.
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
    <Section title="Newest seal" actions={<Button onClick={seal.reload}>Ask again</Button>}>
      <Show of={seal}>
        {(text) =>
          text === null ? (
            <Empty title="No seal yet">
              <p>The daemon signs the log's head a few seconds after the first event.</p>
            </Empty>
          ) : (
            <div class="card stack">
              <p>
                Signs the first <strong>{count(parseSeal(text).size)}</strong> events. Keep it away from this machine:
                then nobody can change or remove what it covers without being noticed, not even somebody with the disk
                and the key.
              </p>
              <CopyBlock label="Seal" text={text} />
              <div class="row">
                <Button onClick={() => download(`${room.workspace.id}-${parseSeal(text).size}.seal`, new Blob([text]))}>
                  Save the seal
                </Button>
              </div>
            </div>
          )
        }
      </Show>
    </Section>
  );
}

function PublicKey({ room }: { room: Room }) {
  const key = useAsk<SealingKey>("/v1/audit/key", { workspace: room.workspace.id });
  return (
    <Section title="Public key">
      <Show of={key}>
        {({ verifier_key, fingerprint, origin }) => (
          <div class="card stack">
            <dl class="facts">
              <Fact name="Origin">
                <code>{origin}</code>
              </Fact>
              <Fact name="Fingerprint">
                <code class="wrap">{fingerprint.replace(/(.{8})(?=.)/g, "$1 ")}</code>
              </Fact>
            </dl>
            <CopyBlock label="Verifier key" text={verifier_key} />
            <p>With this key, anybody can check an export offline, on any machine:</p>
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
