/** An export of the log: whose, when, in which form. */
import { useState } from "preact/hooks";
import { useAction } from "../state/load.ts";
import { say } from "../state/notices.ts";
import type { Room } from "../state/session.ts";
import { download } from "../ui/download.ts";
import { Select, TextField } from "../ui/field.tsx";
import { size } from "../ui/numbers.ts";
import { Problem } from "../ui/problem.tsx";
import { Moment } from "./audit-filters.tsx";

const FORMATS = [
  ["json", "JSON (can be verified offline)"],
  ["ndjson", "NDJSON, one event a line (can be verified offline)"],
  ["csv", "CSV, for a spreadsheet"],
  ["cloudevents", "CloudEvents, for other systems"],
  ["ocsf", "OCSF, for a security data lake"],
] as const;

const instant = (local: string): string | undefined =>
  local === "" ? undefined : new Date(local).toISOString();

/** The file name that the daemon proposes. */
function proposedName(response: Response, format: string): string {
  const header = response.headers.get("content-disposition") ?? "";
  return /filename="([^"/\\]+)"/.exec(header)?.[1] ?? `audit-export.${format}`;
}

export function ExportForm({ room }: { room: Room }) {
  const [agent, setAgent] = useState("");
  const [format, setFormat] = useState("json");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const exported = useAction(async () => {
    const response = await room.api.send("/v1/audit/export", {
      body: {
        ...(agent === "" ? { scope: "workspace" } : { agent_id: agent }),
        format,
        // Members that are undefined are not sent.
        start_time: instant(from),
        end_time: instant(to),
      },
    });
    const content = await response.blob();
    download(proposedName(response, format), content);
    say(`Exported ${size(content.size)}.`);
  });
  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        void exported.run();
      }}
    >
      <div class="filters">
        <TextField
          label="Agent"
          hint="Empty: the whole workspace."
          value={agent}
          onValue={setAgent}
          problem={exported.problem}
          param="agent_id"
          attributes={{ spellcheck: false }}
        />
        <Select label="Form" value={format} onValue={setFormat} options={FORMATS} />
        <Moment label="From" value={from} onValue={setFrom} />
        <Moment label="To" value={to} onValue={setTo} />
      </div>
      <Problem problem={exported.problem} />
      <div class="row">
        <button type="submit" class="button button-primary" disabled={exported.busy}>
          {exported.busy ? "Exporting …" : "Export"}
        </button>
      </div>
    </form>
  );
}
