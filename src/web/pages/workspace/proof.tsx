/** Proving the log: verifying it, and saving its seal, its key and an export. */
import { useState } from "preact/hooks";
import { orNull } from "../../api/client.ts";
import type { ApiProblem } from "../../api/problem.ts";
import type { Anchor, SealingKey, Verification } from "../../api/types.ts";
import { useAction, useAsk, useEvents, useLoad } from "../../state/load.ts";
import { paths } from "../../state/router.ts";
import { session, useAccess } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyBlock, Digest } from "../../ui/copy.tsx";
import { download, submitForDownload } from "../../ui/download.ts";
import { Form, Moment, Select, TextField, useFields } from "../../ui/field.tsx";
import { Time, TimeOr } from "../../ui/inline.tsx";
import { instant } from "../../ui/local-time.ts";
import { say } from "../../ui/notices.tsx";
import { count, counted } from "../../ui/numbers.ts";
import { Empty, Facts, Heading, Problem, Section, Show, Table } from "../../ui/parts.tsx";
import { type EXTENSIONS, exportFile, sealFile, sealSize } from "./saved-files.ts";

const PLAIN = { accept: "text/plain" };

const KIND_WORDS: Readonly<Record<Anchor["kind"], string>> = {
  command: "A program",
  webhook: "Web hook",
  witness: "Witness",
  timestamp: "Time stamp authority",
};

const FORMATS = [
  ["json", "JSON (can be verified offline)"],
  ["ndjson", "NDJSON, one event a line (can be verified offline)"],
  ["csv", "CSV, for a spreadsheet"],
  ["cloudevents", "CloudEvents, for other systems"],
  ["ocsf", "OCSF, for a security data lake"],
] as const;

export function ProofPage() {
  const { id } = useAccess();
  const [saved, setSaved] = useState<Saved>({ seal: `${id}.seal`, export: exportFile(id, null, "json", new Date()) });
  return (
    <>
      <Heading title="Proof">
        Check that the audit log is complete and unchanged, here or later without this daemon.
      </Heading>
      <VerifyNow />
      <NewestSeal onSaved={(seal) => setSaved((old) => ({ ...old, seal }))} />
      <Anchors />
      <PublicKey saved={saved} />
      <Section title="Export">
        <ExportForm onSaved={(file) => setSaved((old) => ({ ...old, export: file }))} />
      </Section>
    </>
  );
}

/** The names of the files that were saved last, or that the next ones get. */
interface Saved {
  seal: string;
  export: string;
}

function VerifyNow() {
  const { api } = useAccess();
  const [result, setResult] = useState<Verification | null>(null);
  const verify = useAction(async () => {
    setResult(null);
    setResult(await api.ask<Verification>("/v1/audit/verify", { body: { scope: "workspace" } }));
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
        {result !== null && <Verdict result={result} />}
      </div>
    </Section>
  );
}

function Verdict({ result }: { result: Verification }) {
  const { id } = useAccess();
  const { valid, events_checked, chain_intact, first_invalid, chain_end, verified_at } = result;
  if (valid) {
    return (
      <div class="callout tone-good" role="status">
        <p>
          <strong>Everything holds.</strong> {counted(events_checked, "event")} checked, every hash and link agrees, and
          the stored data, keys and members are what was written. Checked <Time at={verified_at} />.
        </p>
        <p>{completenessOf(result)}</p>
        {chain_end !== null && (
          <p class="small">
            Newest event {count(chain_end.seq)}, hash <Digest text={chain_end.hash} label="newest hash" />
          </p>
        )}
      </div>
    );
  }
  return (
    <div class="callout tone-bad" role="alert">
      <p>
        <strong>It does not hold.</strong> {counted(events_checked, "event")} checked; the links are{" "}
        {chain_intact ? "whole, but contents differ" : "broken"}.
      </p>
      {first_invalid !== null && (
        <p>
          First: {first_invalid.seq !== null && <>event {count(first_invalid.seq)}, </>}
          {first_invalid.reason}{" "}
          {first_invalid.id !== null && <a href={paths.event(id, first_invalid.id)}>Look at it</a>}
        </p>
      )}
      <p>
        Do not repair anything yet. First copy the data directory, then run <code>governd verify</code> on the copy,
        which reports more.
      </p>
    </div>
  );
}

/** Says whether an event may be missing. */
function completenessOf({ completeness, complete_through }: Verification): string {
  if (complete_through !== null) return `Complete through event ${count(complete_through)}: a seal covers all of it.`;
  if (completeness === "partial") return "A part of the log: events before it were pruned, and are in an export.";
  return "Whether an event is missing cannot be established: no seal covers the log yet.";
}

function NewestSeal({ onSaved }: { onSaved(file: string): void }) {
  const { id, api } = useAccess();
  const seal = useLoad<string | null>(id, async (signal) => {
    const response = await orNull("seal_not_found", api.send("/v1/audit/seal", { headers: PLAIN, signal }));
    return response === null ? null : await response.text();
  });
  const save = (text: string) => {
    download(sealFile(id, text), new Blob([text]));
    onSaved(sealFile(id, text));
  };
  return (
    <Section title="Newest seal" height="12rem" actions={<Button onClick={seal.reload}>Ask again</Button>}>
      <Show of={seal}>
        {(text) =>
          text === null ? (
            <Empty title="No seal yet">
              <p>The daemon signs the log's head a few seconds after the first event.</p>
            </Empty>
          ) : (
            <div class="card stack">
              <p>
                Signs the first <strong>{count(sealSize(text))}</strong> events. Keep it away from this machine: then
                nobody can change or remove what it covers without being noticed, not even somebody with the disk and
                the key.
              </p>
              <CopyBlock label="Seal" text={text} />
              <div class="row">
                <Button onClick={() => save(text)}>Save the seal</Button>
              </div>
            </div>
          )
        }
      </Show>
    </Section>
  );
}

function Anchors() {
  const anchors = useAsk<{ anchors: Anchor[] }>("/v1/audit/anchors");
  return (
    <Section title="Newest anchor" height="11rem" actions={<Button onClick={anchors.reload}>Look again</Button>}>
      <Show of={anchors}>{({ anchors: items }) => (items.length === 0 ? <Nowhere /> : <Places items={items} />)}</Show>
    </Section>
  );
}

function Nowhere() {
  return (
    <Empty title="Seals go nowhere by themselves">
      <p>
        Whoever holds this machine's disk and its key could rewrite what no kept seal covers. Save the seal above now
        and then, or have the operator set <code>anchor_url</code>, <code>anchor_command</code>, <code>witnesses</code>{" "}
        or <code>timestamp_url</code>.
      </p>
    </Empty>
  );
}

/** The places that keep the workspace's seals, and how old the newest seal is there. */
function Places({ items }: { items: readonly Anchor[] }) {
  return (
    <div class="stack">
      <Newest items={items} />
      <Table head={["Place", "Holds", "Taken", "Waiting"]}>
        {items.map((anchor, index) => (
          <tr key={index}>
            <th scope="row">
              {KIND_WORDS[anchor.kind]} {anchor.name !== null && <code>{anchor.name}</code>}
            </th>
            <td data-label="Holds">
              {anchor.seal_size === null ? <span class="faint">not known</span> : counted(anchor.seal_size, "event")}
            </td>
            <td data-label="Taken">
              <TimeOr at={anchor.anchored_at} none="never yet" />
            </td>
            <td data-label="Waiting">
              <TimeOr at={anchor.pending_since} none="nothing" />
              {anchor.failures > 0 && <span class="faint small">, tried {counted(anchor.failures, "time")}</span>}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

/** The seal that covers most events. One place that nobody here can write to is enough. */
function Newest({ items }: { items: readonly Anchor[] }) {
  const [newest] = items.toSorted((a, b) => (b.seal_size ?? 0) - (a.seal_size ?? 0));
  if (newest === undefined || newest.seal_size === null || newest.sealed_at === null) {
    return <p>No place is known to have a seal of this workspace yet.</p>;
  }
  return (
    <p>
      The first <strong>{count(newest.seal_size)}</strong> events are covered by a seal that was taken away, made{" "}
      <Time at={newest.sealed_at} />.
    </p>
  );
}

function PublicKey({ saved }: { saved: Saved }) {
  const key = useAsk<SealingKey>("/v1/audit/key");
  return (
    <Section title="Public key" height="16rem">
      <Show of={key}>
        {({ verifier_key, fingerprint, origin }) => (
          <div class="card stack">
            <Facts
              of={{
                Origin: <code>{origin}</code>,
                Fingerprint: <code>{fingerprint.replace(/(.{8})(?=.)/g, "$1 ")}</code>,
              }}
            />
            <CopyBlock label="Verifier key" text={verifier_key} />
            <p>
              With this key, anybody can check the saved export and the saved seal offline, on any machine. JSON and
              NDJSON can be checked:
            </p>
            <CopyBlock
              label="Offline check"
              text={`governd verify ${saved.export} --public-key '${verifier_key}' --seal ${saved.seal}`}
            />
          </div>
        )}
      </Show>
    </Section>
  );
}

function ExportForm({ onSaved }: { onSaved(file: string): void }) {
  const { id, account } = useAccess();
  const { field, values } = useFields({ agent_id: "", format: "json", start_time: "", end_time: "" });
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  /** The file that was requested from the daemon. Its event says that the daemon sends it. */
  const [awaited, setAwaited] = useState<string | null>(null);
  const fail = (found: ApiProblem) => {
    setProblem(found);
    setAwaited(null);
  };
  useEvents(({ operation, result, actor }) => {
    const isMine = session.value.kind === "in" && actor === session.value.account.id;
    if (awaited === null || operation !== "audit.export" || result !== "ok" || !isMine) return;
    say(`The export ${awaited}`, "is being saved by the browser.");
    onSaved(awaited);
    setAwaited(null);
  });
  const save = async () => {
    const { agent_id, format, start_time, end_time } = values;
    setProblem(null);
    submitForDownload(
      `${account}/export`,
      {
        ...(agent_id === "" ? { scope: "workspace" } : { agent_id }),
        format,
        start_time: instant(start_time) ?? "",
        end_time: instant(end_time) ?? "",
      },
      fail,
    );
    setAwaited(exportFile(id, agent_id === "" ? null : agent_id, format as keyof typeof EXTENSIONS, new Date()));
  };
  return (
    <Form onSubmit={save} submit="Export" at="wide page" problem={problem}>
      <div class="filters">
        <TextField label="Agent" hint="Empty: the whole workspace." {...field("agent_id")} spellcheck={false} />
        <Select label="Format" {...field("format")} options={FORMATS} />
        <Moment label="From" {...field("start_time")} />
        <Moment label="To" {...field("end_time")} />
      </div>
      <p role="status">{awaited !== null && "The daemon is asked for the export …"}</p>
    </Form>
  );
}
