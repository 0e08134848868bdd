/** Proving what an agent had stored: the dialog that saves the file, and says what it proves. */
import { useState } from "preact/hooks";
import type { Proof } from "../../api/types.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { CopyBlock } from "../../ui/copy.tsx";
import { Dialog, DialogButton } from "../../ui/dialog.tsx";
import { download } from "../../ui/download.ts";
import { Check, Form, Moment, Select, TextField, useFields } from "../../ui/field.tsx";
import { Time } from "../../ui/inline.tsx";
import { instant } from "../../ui/local-time.ts";
import { counted } from "../../ui/numbers.ts";
import { proofFile } from "./saved-files.ts";

/** What a proof is about, as the dialog begins. */
interface About {
  what: "key" | "prefix" | "complete";
  name: string;
}

const WHAT = [
  ["key", "One key: what it held, or that it held nothing"],
  ["prefix", "All keys below a prefix, or that there is none"],
  ["complete", "All that the agent held"],
] as const;

/** A button that proves what an agent had. */
export function ProveButton({ agentId, small = false, ...about }: About & { agentId: string; small?: boolean }) {
  return (
    <DialogButton small={small} dialog={<Prove agentId={agentId} {...about} />}>
      Prove …
    </DialogButton>
  );
}

/** A proof that was saved. */
interface Saved {
  proof: Proof;
  file: string;
}

function Prove({ agentId, what, name }: About & { agentId: string }) {
  const { api, canRead } = useAccess();
  const { field, values } = useFields({ what: what as string, name, at: "" });
  const [withValues, setWithValues] = useState(false);
  const [saved, setSaved] = useState<Saved | null>(null);
  const prove = async () => {
    setSaved(null);
    const about = values.what === "complete" ? { complete: true } : { [values.what]: values.name };
    const at = instant(values.at) ?? new Date().toISOString();
    const body = { agent_id: agentId, at, ...about, with_values: withValues };
    const text = await (await api.send("/v1/proofs", { body })).text();
    const file = proofFile(agentId, new Date());
    // The file is what the daemon sent, to the byte.
    download(file, new Blob([text], { type: "application/json" }));
    setSaved({ proof: JSON.parse(text) as Proof, file });
  };
  return (
    <Dialog title="Prove what was stored" wide>
      <Form onSubmit={prove} submit="Prove and save" cancel>
        <p>
          Saves a file that shows to anybody with the public key, without this daemon, what {agentId} had at the newest
          state root of that time.
        </p>
        <Select label="About" {...field("what")} options={WHAT} />
        {values.what !== "complete" && (
          <TextField
            label={values.what === "key" ? "Key" : "Prefix"}
            {...field("name")}
            param={values.what}
            spellcheck={false}
          />
        )}
        <Moment label="At" hint="Empty: now." {...field("at")} />
        {canRead && (
          <Check
            label="With the values"
            hint="Otherwise the file has digests, which say nothing without the values."
            checked={withValues}
            onChecked={setWithValues}
          />
        )}
      </Form>
      {saved !== null && <Proved {...saved} />}
    </Dialog>
  );
}

function Proved({ proof, file }: Saved) {
  const { id } = useAccess();
  const { details } = proof.root as { details: { seq: number } };
  const { id: rootId, timestamp } = proof.root as { id: string; timestamp: string };
  return (
    <div class="callout tone-good stack" role="status">
      <p>
        <strong>{claimOf(proof)}</strong> Right after event {details.seq}, by the{" "}
        <a href={paths.event(id, rootId)}>state root</a> that was recorded <Time at={timestamp} />.
      </p>
      <Neighbours proof={proof} />
      <CopyBlock label="Offline check" text={`governd verify ${file} --public-key seal.pub`} />
    </div>
  );
}

function claimOf({ claim, agent_id, key, prefix, entries }: Proof): string {
  const under = prefix === null ? "" : ` below ${prefix}`;
  switch (claim) {
    case "held":
      return `Held: ${agent_id} had an entry under ${key}.`;
    case "absent":
      return key === null
        ? `Absent: ${agent_id} had nothing${under}.`
        : `Absent: ${agent_id} had nothing under ${key}.`;
    case "complete":
      return `Complete: ${counted(entries.length, "entry", "entries")}${under} of ${agent_id} in the file, and no others.`;
  }
}

/** The entries between which what is absent would be. The file names them. */
function Neighbours({ proof: { before, after } }: { proof: Proof }) {
  const named = [before, after].flatMap((one) => (one === null ? [] : [`${one.key} of ${one.agent_id}`]));
  if (named.length === 0) return null;
  return (
    <p class="small">
      The file also names the neighbouring {named.length === 1 ? "entry" : "entries"}: {named.join(", ")}.
    </p>
  );
}
