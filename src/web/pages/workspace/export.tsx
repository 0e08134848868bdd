/** The form that exports the log. */
import { useState } from "preact/hooks";
import { segment } from "../../api/client.ts";
import type { ApiProblem } from "../../api/problem.ts";
import type { Room } from "../../state/session.ts";
import { submitForDownload } from "../../ui/download.ts";
import { FormProblem, Moment, Select, TextField } from "../../ui/field.tsx";
import { say } from "../../ui/notices.tsx";
import { Problem } from "../../ui/problem.tsx";
import { instant } from "../agent/audit-filters.tsx";

const FORMATS = [
  ["json", "JSON (can be verified offline)"],
  ["ndjson", "NDJSON, one event a line (can be verified offline)"],
  ["csv", "CSV, for a spreadsheet"],
  ["cloudevents", "CloudEvents, for other systems"],
  ["ocsf", "OCSF, for a security data lake"],
] as const;

export function ExportForm({ room }: { room: Room }) {
  const [agent, setAgent] = useState("");
  const [format, setFormat] = useState("json");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const save = () => {
    setProblem(null);
    submitForDownload(
      `/account/workspaces/${segment(room.workspace.id)}/export`,
      {
        ...(agent === "" ? { scope: "workspace" } : { agent_id: agent }),
        format,
        start_time: instant(from) ?? "",
        end_time: instant(to) ?? "",
      },
      setProblem,
    );
    say("The browser is saving the export.");
  };
  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <FormProblem.Provider value={problem}>
        <div class="filters">
          <TextField
            label="Agent"
            hint="Empty: the whole workspace."
            value={agent}
            onValue={setAgent}
            param="agent_id"
            attributes={{ spellcheck: false }}
          />
          <Select label="Format" value={format} onValue={setFormat} options={FORMATS} />
          <Moment label="From" value={from} onValue={setFrom} />
          <Moment label="To" value={to} onValue={setTo} />
        </div>
      </FormProblem.Provider>
      <Problem problem={problem} />
      <div class="row">
        <button type="submit" class="button button-primary">
          Export
        </button>
      </div>
    </form>
  );
}
