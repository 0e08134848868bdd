/** The bodies of requests about sinks, and their answers. */
import { Type as t } from "@sinclair/typebox";
import { AgentId, textField, truth, wordOf } from "../../api/fields.ts";
import {
  Actor,
  AuditId,
  component,
  countOf,
  listWithoutPages,
  nullable,
  object,
  shape,
  Time,
  usuallyNull,
} from "../../api/shapes.ts";
import { isSession } from "../../details.ts";
import { SINK_FORMATS, SINK_TYPES } from "../../sink.ts";
import { AuditResultName, EventName } from "../audit/schema.ts";

/** The most characters of an address, of a PEM text, of a token. */
const MAX_URL_LENGTH = 2_048;
const MAX_PEM_LENGTH = 64 * 1024;
const MAX_TOKEN_LENGTH = 1_024;
/** The most words of one list of a filter. */
const MAX_FILTER_WORDS = 1_000;

const many = { minItems: 1, maxItems: MAX_FILTER_WORDS };

const SessionName = component(
  "SessionName",
  textField(
    "SessionName",
    { minLength: 1, maxLength: 128, description: "A session, as requests name it.", examples: ["conversation-42"] },
    isSession,
  ),
);

const Filter = component(
  "SinkFilter",
  object(
    {
      operations: t.Optional(t.Array(EventName, many)),
      results: t.Optional(t.Array(AuditResultName, many)),
      agents: t.Optional(t.Array(AgentId, many)),
      sessions: t.Optional(t.Array(SessionName, many)),
    },
    "Events in every list.",
  ),
);

const SinkId = component(
  "SinkId",
  t.String({ pattern: "^snk_[0-9a-z]{26}$", examples: ["snk_01jz8v6s3yf0abm5q2x9k7n4tc"] }),
);

const Type = component("SinkType", wordOf(SINK_TYPES, "The kind of receiver"));
const Url = component(
  "SinkUrl",
  textField(
    "SinkUrl",
    { maxLength: MAX_URL_LENGTH, description: "The receiver's address.", examples: ["https://siem.example.org/in"] },
    (text) => text.length <= MAX_URL_LENGTH,
  ),
);
const Format = component("SinkFormat", wordOf(SINK_FORMATS, "The form of events"));
/** A text of a request, or null for none. */
const textOrNull = (maxLength: number, description: string) =>
  t.Union([t.String({ maxLength }), t.Null()], { description, examples: [null] });
const pem = (description: string) => textOrNull(MAX_PEM_LENGTH, description);
const Ca = component("SinkCa", pem("The receiver's authority, PEM."));
const ClientCertificate = component("SinkCertificate", pem("What the receiver is shown, PEM."));
const Start = component(
  "SinkStart",
  t.Union([t.Literal("now"), t.Literal("beginning"), t.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })], {
    description: "Where it begins; a number is a `seq`.",
  }),
);

const IncludeDetails = truth("Whether the details of events are sent");
const Enabled = truth("Whether events are delivered");

/** What a change can change. What it leaves out stays. */
const settings = {
  format: t.Optional(Format),
  filter: t.Optional(Filter),
  include_details: t.Optional(IncludeDetails),
  enabled: t.Optional(Enabled),
  ca: t.Optional(Ca),
  client_certificate: t.Optional(ClientCertificate),
  client_key: t.Optional(pem("Its key, PEM; never shown.")),
  token: t.Optional(textOrNull(MAX_TOKEN_LENGTH, "For the receiver; never shown.")),
};

export const NewSink = object({
  type: Type,
  url: Url,
  ...settings,
  format: t.Optional({ ...Format, default: "governd" }),
  include_details: t.Optional({ ...IncludeDetails, default: false }),
  enabled: t.Optional({ ...Enabled, default: true }),
  start: t.Optional({ ...Start, default: "now" }),
});

export const ChangedSink = object({ url: t.Optional(Url), ...settings });

export const SinkShape = shape("Sink", {
  id: SinkId,
  type: Type,
  url: Url,
  format: Format,
  filter: Filter,
  include_details: t.Boolean(),
  start: Start,
  enabled: t.Boolean(),
  ca: Ca,
  client_certificate: ClientCertificate,
  created_at: Time,
  created_by: Actor,
  state: wordOf(["ok", "failing", "disabled"], "`failing` when the last delivery was not acknowledged"),
  position: nullable(countOf("The last event that is done with.")),
  lag: nullable(countOf("Events behind it."), { examples: [0] }),
  last_delivery_at: nullable(Time),
  last_error: usuallyNull(object({ at: Time, message: t.String() }, "Why the last delivery failed.")),
  secret: t.Optional(
    t.String({
      description: "Of `v1` signatures (Standard Webhooks), when it is new.",
      examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw2LaLaSwMfKQ="],
    }),
  ),
  public_key: t.Optional(
    t.String({
      description: "Of `v1a` signatures, likewise.",
      examples: ["whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="],
    }),
  ),
  audit_id: t.Optional(nullable(AuditId, { description: "The event of a change." })),
});

export const SinkList = listWithoutPages(SinkShape);

export const SinkTested = object({
  delivered: t.Boolean({ description: "Whether the receiver acknowledged the record." }),
  message: usuallyNull(t.String({ description: "Why not." })),
  audit_id: nullable(AuditId),
});
