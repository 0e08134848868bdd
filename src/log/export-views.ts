/**
 * Exports for other systems, one JSON object a line: CloudEvents 1.0 (JSON format) and OCSF API
 * Activity. They are views: their lines carry the event's hash, but are not verified on their own.
 */
import { parseEvent } from "./event.ts";
import { presentEvent } from "./present.ts";
import type { StoredEvent } from "./rows.ts";

/** The version of OCSF that the view follows, and the numbers of its class API Activity. */
export const OCSF_VERSION = "1.3.0";
const OCSF_CATEGORY_APPLICATION = 6;
const OCSF_CLASS_API_ACTIVITY = 6003;
const OCSF_INFORMATIONAL = 1;
const OCSF_STATUS = { success: 1, failure: 2 } as const;

/** Activities of API Activity. */
const OCSF_ACTIVITY = { create: 1, read: 2, update: 3, delete: 4, other: 99 } as const;

/** Operations by what they do; every other one reads. */
const ACTIVITIES: Readonly<Record<string, keyof typeof OCSF_ACTIVITY>> = {
  "workspace.create": "create",
  "key.create": "create",
  "checkpoint.create": "create",
  "config.update": "update",
  "config.rollback": "update",
  "data.write": "update",
  "checkpoint.restore": "update",
  "key.revoke": "delete",
  "checkpoint.delete": "delete",
  "data.delete": "delete",
  "data.delete_prefix": "delete",
  "data.expire": "delete",
  "data.erase": "delete",
  "audit.prune": "delete",
  "seal.rotate_key": "other",
  "log.restore": "other",
};

/** An event as a CloudEvent; `data` is the event as the API shows it. */
export function cloudEvent(stored: StoredEvent): string {
  const event = presentEvent(stored);
  return `${JSON.stringify({
    specversion: "1.0",
    id: event.id,
    source: `/workspaces/${event.workspace_id}`,
    type: `governd.audit.${event.operation}`,
    ...(event.agent_id === null ? {} : { subject: event.agent_id }),
    time: event.timestamp,
    datacontenttype: "application/json",
    data: event,
  })}\n`;
}

/** An event as OCSF API Activity. Where a request came from is not in the log, so it is not here. */
export function ocsfActivity(stored: StoredEvent): string {
  const event = presentEvent(stored);
  const { seq } = parseEvent(asText(stored.canonical));
  const activity = OCSF_ACTIVITY[ACTIVITIES[event.operation] ?? "read"];
  const worked = event.result === "ok" || event.result === "allowed";
  return `${JSON.stringify({
    activity_id: activity,
    category_uid: OCSF_CATEGORY_APPLICATION,
    class_uid: OCSF_CLASS_API_ACTIVITY,
    type_uid: OCSF_CLASS_API_ACTIVITY * 100 + activity,
    time: Date.parse(event.timestamp),
    severity_id: OCSF_INFORMATIONAL,
    status_id: worked ? OCSF_STATUS.success : OCSF_STATUS.failure,
    status_detail: event.blocked_by ?? event.result,
    metadata: {
      version: OCSF_VERSION,
      product: { name: "governd", vendor_name: "governd" },
      uid: event.id,
      sequence: seq,
      log_name: event.workspace_id,
    },
    actor: { user: { uid: event.actor } },
    api: { operation: event.operation, service: { name: "governd" } },
    src_endpoint: { name: "not recorded" },
    resources: event.agent_id === null ? [] : [{ uid: event.agent_id, type: "agent" }],
    unmapped: event,
  })}\n`;
}

function asText(canonical: string | Uint8Array): string {
  return typeof canonical === "string" ? canonical : Buffer.from(canonical).toString("latin1");
}
