/**
 * Exports for other systems, one JSON object per line: CloudEvents 1.0 (JSON format) and OCSF. They are views: a line
 * contains the event's hash, but cannot be verified on its own.
 */
import type { JsonObject } from "../json.ts";
import type { OcsfActivity } from "../operation-facts.ts";
import { eventFacts } from "../operations.ts";
import { type PresentedEvent, presentEvent } from "./present.ts";
import type { StoredEvent } from "./rows.ts";

/** The version of OCSF that the view follows. */
const OCSF_VERSION = "1.3.0";
const OCSF_INFORMATIONAL = 1;
const OCSF_UNKNOWN = 0;
const OCSF_STATUS = { success: 1, failure: 2 } as const;
/** `type_id` and `activity_id` for values without a number in OCSF. `type` and `event_code` have their names. */
const OCSF_OTHER = 99;

/** OCSF's numbers of categories, classes and activities, by their names in the list of operations. */
const OCSF_CLASSES = {
  api: { category: 6, uid: 6003, activities: { read: 2, delete: 4 } },
  datastore: {
    category: 6,
    uid: 6005,
    activities: { read: 1, update: 2, query: 4, write: 5, create: 6, delete: 7, list: 8 },
  },
  entity: {
    category: 3,
    uid: 3004,
    activities: { create: 1, read: 2, update: 3, delete: 4, suspend: 12, resume: 13, other: OCSF_OTHER },
  },
  group: { category: 3, uid: 3006, activities: { add_user: 3, remove_user: 4 } },
  account: {
    category: 3,
    uid: 3001,
    activities: {
      create: 1,
      change_password: 3,
      reset_password: 4,
      delete: 6,
      enable_factor: 10,
      disable_factor: 11,
      other: OCSF_OTHER,
    },
  },
  authentication: { category: 3, uid: 3002, activities: { logon: 1, logoff: 2 } },
} as const satisfies {
  [C in OcsfClass]: { category: number; uid: number; activities: Record<ActivityOf<C>, number> };
};

type OcsfClass = OcsfActivity extends `${infer C}.${string}` ? C : never;
type ActivityOf<C extends OcsfClass> = OcsfActivity extends infer A
  ? A extends `${C}.${infer Name}`
    ? Name
    : never
  : never;

/** An event as a view contains it: as the API shows it, or without some members. */
type Shown = Partial<PresentedEvent>;

/** A line of an export: an event in one of the views. */
const line = (view: (event: PresentedEvent) => object) => (stored: StoredEvent) =>
  `${JSON.stringify(view(presentEvent(stored)))}\n`;

/** Returns an event as a CloudEvent. `data` is the event as it is shown. */
export function cloudEvent(event: PresentedEvent, data: Shown = event): object {
  return {
    specversion: "1.0",
    id: event.id,
    source: `/workspaces/${event.workspace_id}`,
    type: `governd.audit.${event.operation}`,
    ...(event.agent_id === null ? {} : { subject: event.agent_id }),
    time: event.timestamp,
    // The extension for distributed tracing. JSON omits it when it is undefined.
    traceparent: traceOf(event),
    datacontenttype: "application/json",
    data,
  };
}

export const cloudEventLine = line(cloudEvent);

/** Returns an event as OCSF. The log does not have the origin of a request, so the source is unknown. */
export function ocsfEvent(event: PresentedEvent, unmapped: Shown = event): object {
  // An operation that is not in the list is an API call of an unknown kind.
  const known = eventFacts(event.operation)?.ocsf;
  const [name, activityName = ""] = (known ?? "api").split(".") as [OcsfClass, string?];
  const { category, uid, activities } = OCSF_CLASSES[name];
  const activity = (activities as Readonly<Record<string, number>>)[activityName] ?? OCSF_UNKNOWN;
  const isDone = event.result === "ok" || event.result === "allowed";
  return {
    activity_id: activity,
    category_uid: category,
    class_uid: uid,
    type_uid: uid * 100 + activity,
    time: Date.parse(event.timestamp),
    severity_id: OCSF_INFORMATIONAL,
    status_id: isDone ? OCSF_STATUS.success : OCSF_STATUS.failure,
    status_detail: event.blocked_by ?? event.result,
    metadata: {
      version: OCSF_VERSION,
      product: { name: "governd", vendor_name: "governd" },
      uid: event.id,
      sequence: event.seq,
      log_name: event.workspace_id,
      event_code: event.operation,
      correlation_uid: traceIdOf(traceOf(event)),
      // In these classes the actor belongs to a profile.
      ...(name === "entity" || name === "group" ? { profiles: ["host"] } : {}),
    },
    actor: { user: { uid: event.actor } },
    ...OCSF_TARGETS[name](event),
    unmapped,
  };
}

export const ocsfEventLine = line(ocsfEvent);

const UNKNOWN_SOURCE = { name: "not recorded" };

/** Returns the object of an event, in the form of its class. */
const OCSF_TARGETS: Record<OcsfClass, (event: PresentedEvent) => JsonObject> = {
  api: ({ operation, agent_id: agentId }) => ({
    api: { operation, service: { name: "governd" } },
    src_endpoint: UNKNOWN_SOURCE,
    resources: agentId === null ? [] : [{ uid: agentId, type: "agent" }],
  }),
  datastore: (event) => ({
    databucket: { uid: subjectOf(event), type: "agent", type_id: OCSF_OTHER },
    src_endpoint: UNKNOWN_SOURCE,
  }),
  entity: (event) => ({
    entity: { uid: subjectOf(event), type: event.operation.split(".")[0] as string, type_id: OCSF_OTHER },
  }),
  group: (event) => ({ group: { uid: event.workspace_id, type: "workspace" }, user: { uid: subjectOf(event) } }),
  account: (event) => ({ user: userOf(event) }),
  authentication: (event) => ({ user: userOf(event), service: { name: "governd" } }),
};

/** Returns the account that an event concerns. A failed sign-in may name none that exists, or several. */
const userOf = ({ details }: PresentedEvent): JsonObject =>
  typeof details?.account_id === "string" ? { uid: details.account_id } : { name: "unknown" };

/** Returns the `traceparent` of the request that the event records; undefined without one. */
const traceOf = ({ details }: PresentedEvent): string | undefined =>
  typeof details?.trace === "string" ? details.trace : undefined;

/** Returns the trace in a `traceparent`. */
const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split("-")[1];

/** Returns the id of the key, account, invitation, sink or agent that an event concerns, or else of the workspace. */
function subjectOf({ agent_id: agentId, workspace_id: workspaceId, details }: PresentedEvent): string {
  const { key_id, account_id, invitation_id, sink_id, agent_id } = details ?? {};
  const found = [key_id, account_id, invitation_id, sink_id, agentId, agent_id].find((id) => typeof id === "string");
  return (found as string | undefined) ?? workspaceId;
}
