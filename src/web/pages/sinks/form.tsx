/** Making and changing a sink. */
import { useState } from "preact/hooks";
import type { Sink } from "../../api/types.ts";
import { useAccess } from "../../state/session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Check, Form, Select, TextArea, TextField, useFields } from "../../ui/field.tsx";
import { useClose } from "../../ui/leave.ts";
import { say } from "../../ui/notices.tsx";
import { itemsOf, placeWords, TYPE_WORDS } from "./words.ts";

const URL_FIELDS: Record<Sink["type"], readonly [label: string, hint: string]> = {
  webhook: ["Address", "For example https://siem.example.org/in"],
  syslog: ["Address", "For example tls://siem.example.org:6514. Syslog can only say what its connection took."],
  otlp: ["Address", "For example https://collector.example.org:4318/v1/logs"],
  splunk_hec: ["Address", "For example https://splunk.example.org:8088/services/collector/event"],
  file: ["Path", "In the server's sink_directory, for example events.ndjson"],
};

const FORMATS = [
  ["governd", "governd: as the API shows events"],
  ["cloudevents", "CloudEvents 1.0"],
  ["ocsf", "OCSF 1.3.0"],
] as const;

const STARTS = [
  ["now", "With what happens from now on"],
  ["beginning", "With the first event that is there"],
] as const;

const types = Object.entries(TYPE_WORDS);

/** Returns the values of the fields for an existing sink. */
const textsOf = ({ url, format, filter, ca, client_certificate }: Sink) => ({
  url,
  format: format as string,
  operations: filter.operations?.join(", ") ?? "",
  results: filter.results?.join(", ") ?? "",
  agents: filter.agents?.join(", ") ?? "",
  sessions: filter.sessions?.join(", ") ?? "",
  ca: ca ?? "",
  client_certificate: client_certificate ?? "",
  client_key: "",
  token: "",
});

type Texts = ReturnType<typeof textsOf>;

const EMPTY: Texts = {
  url: "",
  format: "governd",
  operations: "",
  results: "",
  agents: "",
  sessions: "",
  ca: "",
  client_certificate: "",
  client_key: "",
  token: "",
};

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());

/** Returns the settings in the fields. Secrets that are left empty stay as they are. */
function bodyOf(texts: Texts, includeDetails: boolean): Record<string, unknown> {
  const { url, format, operations, results, agents, sessions, ca, client_certificate, client_key, token } = texts;
  const lists = Object.entries({ operations, results, agents, sessions }).map(
    ([name, text]) => [name, itemsOf(text)] as const,
  );
  const certificate = orNull(client_certificate);
  return {
    url: url.trim(),
    format,
    filter: Object.fromEntries(lists.filter(([, items]) => items.length > 0)),
    include_details: includeDetails,
    ca: orNull(ca),
    client_certificate: certificate,
    ...(certificate === null ? { client_key: null } : client_key !== "" && { client_key: client_key.trim() }),
    ...(token !== "" && { token }),
  };
}

interface SettingsProps {
  type: Sink["type"];
  field(param: keyof Texts): { param: string; value: string; onValue(value: string): void };
  includeDetails: boolean;
  onIncludeDetails(include: boolean): void;
  /** Whether there are secrets, which stay when nothing is typed. */
  isNew: boolean;
}

function Settings({ type, field, includeDetails, onIncludeDetails, isNew }: SettingsProps) {
  const [label, hint] = URL_FIELDS[type];
  const stays = isNew ? "" : " Empty: it stays.";
  return (
    <>
      <TextField label={label} hint={hint} {...field("url")} required spellcheck={false} />
      <Select label="Form of events" {...field("format")} options={FORMATS} />
      <TextField
        label="Only these operations"
        hint="Such as data.write, data.delete. Empty: all."
        {...field("operations")}
        param="filter"
        spellcheck={false}
      />
      <TextField label="Only these results" hint="Such as blocked, denied. Empty: all." {...field("results")} />
      <TextField label="Only these agents" hint="Ids. Empty: all, and events of no agent." {...field("agents")} />
      <TextField
        label="Only these sessions"
        hint="As requests name them. Empty: all."
        {...field("sessions")}
        spellcheck={false}
      />
      <Check
        label="Send details"
        hint="They hold keys of entries and what clients chose, but no stored values."
        checked={includeDetails}
        onChecked={onIncludeDetails}
      />
      {(type === "splunk_hec" || type === "otlp") && (
        <TextField
          label="Token"
          hint={`${type === "otlp" ? "Sent as a bearer token, when there is one." : "Of the HTTP Event Collector."}${stays}`}
          type="password"
          autocomplete="off"
          {...field("token")}
        />
      )}
      {type !== "file" && (
        <>
          <TextArea label="Authority" hint="PEM. Empty: those of the system." rows={3} code {...field("ca")} />
          <TextArea
            label="Client's certificate"
            hint="What the receiver is shown, PEM. Empty: none."
            rows={3}
            code
            {...field("client_certificate")}
          />
          <TextArea label="Key of the certificate" hint={`PEM.${stays}`} rows={3} code {...field("client_key")} />
        </>
      )}
    </>
  );
}

export function NewSink({ onDone }: { onDone(sink: Sink): void }) {
  const close = useClose();
  const { api } = useAccess();
  const [type, setType] = useState<Sink["type"]>("webhook");
  const [start, setStart] = useState("now");
  const [includeDetails, setIncludeDetails] = useState(false);
  const { field, values } = useFields(EMPTY);
  const create = async () => {
    const { client_key, ...others } = bodyOf(values, includeDetails);
    const key = client_key === null ? {} : { client_key };
    onDone(await api.ask<Sink>("/v1/sinks", { body: { type, start, ...others, ...key } }));
    close();
  };
  return (
    <Dialog title="New sink" wide>
      <Form onSubmit={create} submit="Make the sink" cancel>
        <Select
          label="Kind of receiver"
          param="type"
          value={type}
          onValue={(value) => setType(value as Sink["type"])}
          options={types}
        />
        <Settings {...{ type, field, includeDetails }} onIncludeDetails={setIncludeDetails} isNew />
        <Select label="Begins" param="start" value={start} onValue={setStart} options={STARTS} />
      </Form>
    </Dialog>
  );
}

export function EditSink({ sink, onDone }: { sink: Sink; onDone(sink: Sink): void }) {
  const close = useClose();
  const { api } = useAccess();
  const [includeDetails, setIncludeDetails] = useState(sink.include_details);
  const { field, values } = useFields(textsOf(sink));
  const change = async () => {
    const body = bodyOf(values, includeDetails);
    onDone(await api.ask<Sink>(`/v1/sinks/${sink.id}`, { method: "PATCH", body }));
    say(placeWords(sink), "is changed.");
    close();
  };
  return (
    <Dialog title={`Change ${placeWords(sink)}`} wide>
      <Form onSubmit={change} submit="Change" cancel>
        <Settings {...{ field, includeDetails }} type={sink.type} onIncludeDetails={setIncludeDetails} isNew={false} />
      </Form>
    </Dialog>
  );
}
