/** The HTTP routes of the audit trail. */
import { Type as t } from "@sinclair/typebox";
import {
  AgentId,
  choice,
  flag,
  NEWEST_FIRST,
  oldestFirst,
  optionalInteger,
  PAGE_PARAMETERS,
  wordOf,
} from "../../api/fields.ts";
import { listInput } from "../../api/page.ts";
import { route } from "../../api/route.ts";
import { object } from "../../api/shapes.ts";
import { decodeExportCursor, type ExportFilters } from "../../core/lists.ts";
import { MOST_DEPTH } from "../../core/rows/lineage/walk.ts";
import { isId } from "../../ids.ts";
import {
  ACTIVITY_INTERVALS,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportResumption,
  isView,
  LINEAGE_DIRECTIONS,
} from "../../operation-facts.ts";
import { invalid } from "../../problem.ts";
import * as schema from "./schema.ts";
import {
  agents,
  filterOf,
  filters,
  narrowed,
  scoped,
  scopeOf,
  several,
  trailScopeOf,
  wholeScopeOf,
  window,
  windowOf,
} from "./trail-schema.ts";

const treeSize = (description: string) => t.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

function resumptionOf(asked: ExportFilters, cursor: string): ExportResumption {
  const resume = decodeExportCursor(asked, cursor);
  if (resume !== null) return resume;
  throw invalid(
    'The "cursor" is not one of an export with these filters: send X-Export-Cursor of the answer that broke off, a full stop, and the number of whole events that you have.',
    "cursor",
  );
}

/** @throws {Problem} when a request with a filter asks for something that only an export without filters can do */
function requireView(format: ExportFormat, cursor: string | undefined): void {
  if (!isView(format)) {
    throw invalid(
      `An export with filters leaves events out, so nothing could verify it as ${format}. Send format csv, cloudevents or ocsf, or leave the filters out.`,
      "format",
    );
  }
  if (cursor !== undefined) throw invalid('An export with filters cannot be continued. Leave "cursor" out.', "cursor");
}

export const exportTrail = route({
  operation: "audit.export",
  at: "POST /v1/audit/export",
  retryable: false,
  body: object({
    agent_id: t.Optional(
      t.Union([AgentId, agents], { description: "An agent, or a list of several.", examples: ["support-bot"] }),
    ),
    scope: several.scope,
    ...filters,
    format: choice(EXPORT_FORMATS, "The export's form", "json"),
    ...window,
    cursor: t.Optional(
      t.String({
        maxLength: 512,
        description:
          "To continue an interrupted export: its `X-Export-Cursor`, a full stop, and the number of complete events received. Everything else must be the same as in the first request.",
      }),
    ),
  }),
  input: ({ body, principal }) => {
    const { format = "json", cursor, agent_id: ids } = body;
    const named = { ...body, agent_id: typeof ids === "string" ? [ids] : (ids ?? []) };
    const asked = {
      scope: wholeScopeOf(named, principal),
      format,
      window: windowOf(body),
      ...narrowed(filterOf(named)),
    };
    if (asked.filter !== undefined) requireView(format, cursor);
    return cursor === undefined ? asked : { ...asked, resume: resumptionOf(asked, cursor) };
  },
  summary: "Export the audit trail",
  description:
    "The export, streamed as an attachment. `governd verify` checks a json or ndjson export without the database; cloudevents (CloudEvents 1.0) and ocsf (OCSF 1.3.0) are views for other systems. With filters, an export is a view. An interrupted export can be continued with `cursor`: append the response to what was received.",
  response: {
    streamed: true,
    description: "The export.",
    schema: schema.AuditExport,
    otherTypes: ["application/x-ndjson", "text/csv"],
    sends: ["Content-Disposition", "X-Export-Cursor"],
    compressed: true,
  },
  problems: ["agent_not_found"],
});

/** Returns the event after which a live stream resumes, if the request names one. */
function resumption(headers: Headers): { after?: string } {
  const after = headers.get("last-event-id");
  if (after === null || after === "") return {};
  if (isId("aud", after)) return { after };
  throw invalid(
    "Last-Event-ID is not the id of an event. Send the last id that the stream sent, or leave the header out.",
    "Last-Event-ID",
  );
}

export const auditRoutes = [
  route({
    operation: "audit.stream",
    at: "GET /v1/audit/stream",
    query: object({ ...several, ...filters }),
    input: ({ query: asked, headers, principal }) => ({
      scope: wholeScopeOf(asked, principal),
      ...narrowed(filterOf(asked)),
      ...resumption(headers),
    }),
    summary: "Follow the audit trail live",
    description:
      "Server-sent events, within a second of their commit: those of agents, or with `scope=all` or `workspace` everything, filtered as in a query. The `id` of a message is that of its event; send the last one as `Last-Event-ID` to resume without a gap. The stream ends with the key or session, and when the client does not read for 30 seconds.",
    response: {
      streamed: true,
      description: "The events, one message each, as `GET /v1/audit/{id}` shows them.",
      schema: t.String({
        examples: ['id: aud_01jz8v6s3yf0abm5q2x9k7n4tc\ndata: {"id":"aud_01jz8v6s3yf0abm5q2x9k7n4tc"}\n\n'],
      }),
      mediaType: "text/event-stream",
    },
    problems: ["audit_event_not_found"],
    headers: {
      "Last-Event-ID": {
        description: "The id of the last event that was received, to resume after it.",
        example: "aud_01jz8v6s3yf0abm5q2x9k7n4tc",
      },
    },
  }),

  route({
    operation: "audit.activity",
    at: "GET /v1/audit/activity",
    query: object({ ...scoped, interval: choice(ACTIVITY_INTERVALS, "The length of an interval", "hour"), ...window }),
    input: ({ query: asked, principal }) => ({
      scope: scopeOf(asked, principal),
      window: windowOf(asked),
      interval: asked.interval ?? "hour",
    }),
    summary: "Count events over time",
    description:
      "How many events there were in each interval, and how many were refused: of an agent, or with `scope=workspace` of the whole workspace. `start_time` (24 intervals ago) and `end_time` (now) are widened to whole intervals in UTC, at most 750 of them.",
    response: { description: "The counts.", schema: schema.Activity, compressed: true },
  }),

  route({
    operation: "audit.query",
    at: "GET /v1/audit",
    query: object({ ...several, ...filters, ...window, ...NEWEST_FIRST, ...PAGE_PARAMETERS }),
    input: ({ query: asked, principal }) => {
      const filter = { ...filterOf(asked), window: windowOf(asked), ...oldestFirst(asked) };
      return listInput("audit.query", { scope: trailScopeOf(asked, principal), ...filter }, asked);
    },
    summary: "Query the audit trail",
    description:
      "Events of agents, as the trail was when the query began. `scope=workspace` lists the workspace's own events instead, `scope=all` all events, and for an operator `scope=installation` the log of the installation. All filters must hold. `start_time` is inclusive, `end_time` exclusive. A query that looks through many events may return few or none: continue while `has_more` is true.",
    response: { description: "One page of events.", schema: schema.AuditEventList, compressed: true },
  }),

  route({
    operation: "lineage.read",
    at: "GET /v1/lineage/:id",
    query: object({
      direction: wordOf(LINEAGE_DIRECTIONS, "What led to the write, or what followed from it"),
      depth: optionalInteger(1, MOST_DEPTH, "How many steps to go", 1),
      limit: PAGE_PARAMETERS.limit,
      cursor: PAGE_PARAMETERS.cursor,
    }),
    unfindable: "audit_event_not_found",
    input: ({ params, query: { direction, depth = 1, ...page } }) =>
      listInput("lineage.read", { eventId: params.id, direction, depth }, page),
    summary: "Find what led to a write, and what followed from it",
    description:
      "A version is a cause of a write when the same actor was shown it earlier in the trail: in the session of the write, or, for a write without a session, in the ten minutes before. Effects are the same from the other end, across agents. By depth, then by position; each write comes once, with its smallest depth.",
    response: { description: "One page of writes.", schema: schema.Lineage, compressed: true },
    problems: ["not_a_write"],
  }),

  route({
    operation: "audit.seal",
    at: "GET /v1/audit/seal",
    input: () => ({}),
    summary: "Get the newest seal",
    description:
      "The signed head of the workspace's log. Keep it: `governd verify --seal` detects every later change to the events that it covers, and a truncated log.",
    response: { description: "The seal.", schema: schema.Seal, mediaType: "text/plain" },
    problems: ["seal_not_found"],
  }),

  route({
    operation: "audit.key",
    at: "GET /v1/audit/key",
    input: () => ({}),
    summary: "Get the public key of the seals",
    description: "The key that seals the workspace now, and the earlier keys, each with the event that announced it.",
    response: { description: "The key.", schema: schema.SealingKey },
  }),

  route({
    operation: "audit.consistency",
    at: "GET /v1/audit/consistency",
    query: object({
      from: treeSize("The size of the older tree: an integer from 0."),
      to: t.Optional(
        treeSize("The size of the newer tree: an integer up to the size of the newest seal, which is the default."),
      ),
    }),
    input: ({ query: asked }) => asked,
    summary: "Prove that one seal continues another",
    description:
      "The consistency proof between two sizes of the log (RFC 9162, 2.1.4), with the roots of both trees. Hashes of the proof are in hex, roots in base64 as in seals.",
    response: { description: "The proof.", schema: schema.Consistency },
    problems: ["seal_not_found"],
  }),

  route({
    operation: "audit.anchors",
    at: "GET /v1/audit/anchors",
    input: () => ({}),
    summary: "List the anchors of the seals",
    description:
      "For each place to which the daemon sends seals, the newest seal of this workspace that the place accepted. The proof of an anchor is at that place; this shows how old the anchor is.",
    response: {
      description: "Every place, in the order of the settings. The list may be empty.",
      schema: schema.Anchors,
    },
  }),

  route({
    operation: "audit.read",
    at: "GET /v1/audit/:id",
    query: object({ proof: flag("Whether to add the proof that a seal covers the event") }),
    unfindable: "audit_event_not_found",
    input: ({ params, query: asked }) => ({ eventId: params.id, proof: asked.proof ?? false }),
    summary: "Read one audit event",
    description:
      "An event with everything that its hash covers. With `proof=true`, also the proof that connects it with a seal; an event that no seal covers yet is sealed first.",
    response: { description: "The event.", schema: schema.AuditEvent },
  }),

  route({
    operation: "audit.receipt",
    at: "GET /v1/audit/:id/receipt",
    query: object({
      format: t.Optional(
        t.Literal("tlog-proof", {
          description: "`tlog-proof`: the extra data of the receipt holds the exact bytes that are hashed.",
        }),
      ),
    }),
    unfindable: "audit_event_not_found",
    input: ({ params, query: { format } }) => ({ eventId: params.id, ...(format === undefined ? {} : { format }) }),
    summary: "Get the receipt of an audit event",
    description:
      "One text file that proves the event to anyone who has the public key: `governd verify receipt.txt --public-key KEY`.",
    response: {
      description: "The receipt.",
      schema: schema.Receipt,
      mediaType: "text/plain",
      sends: ["Content-Disposition"],
    },
    problems: ["seal_not_found"],
  }),

  route({
    operation: "audit.verify",
    at: "POST /v1/audit/verify",
    retryable: false,
    body: object(scoped),
    input: ({ body, principal }) => ({ scope: scopeOf(body, principal) }),
    summary: "Verify the audit trail",
    description:
      "Recomputes every hash of the agent's chain and compares everything stored with it. `scope: workspace` verifies the whole workspace. A failed verification returns 200 with `valid` false.",
    response: { description: "What was found.", schema: schema.Verification, compressed: true },
    problems: ["agent_not_found"],
  }),

  exportTrail,
];
