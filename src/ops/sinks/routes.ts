/** The HTTP routes of sinks. */

import { type RouteRequest, route } from "../../api/route.ts";
import { checkWorkspaceWide } from "../../api/scopes.ts";
import { Deleted } from "../../api/shapes.ts";
import { askedOf, requestOf } from "./asked.ts";
import { ChangedSink, NewSink, SinkList, SinkShape, SinkTested } from "./schema.ts";

/** Returns the sink that a path names. @throws {Problem} `forbidden` for a key that is limited to agents */
function namedSink({ params, principal }: Pick<RouteRequest<"id", unknown, unknown>, "params" | "principal">) {
  checkWorkspaceWide(principal);
  return { sinkId: params.id };
}

const OF_ONE = { unfindable: "sink_not_found", input: namedSink } as const;

export const sinkRoutes = [
  route({
    operation: "sink.list",
    at: "GET /v1/sinks",
    input: ({ principal }) => {
      checkWorkspaceWide(principal);
      return {};
    },
    summary: "List the sinks",
    description: "The receivers of the workspace's events, the oldest first.",
    response: { description: "The sinks.", schema: SinkList },
  }),

  route({
    operation: "sink.create",
    at: "POST /v1/sinks",
    body: NewSink,
    retryable: false,
    input: ({ principal, body }) => {
      checkWorkspaceWide(principal);
      return requestOf(body);
    },
    summary: "Create a sink",
    description:
      "Delivers events to a receiver that the server's setting `sink_allow` names: in order of `seq`, at least once, none left out. A key limited to agents may not use sinks.",
    status: 201,
    response: { description: "The sink. Its secrets are shown only now.", schema: SinkShape },
  }),

  route({
    ...OF_ONE,
    operation: "sink.read",
    at: "GET /v1/sinks/:id",
    summary: "Read a sink",
    description: "A sink, and how far it has come.",
    response: { description: "The sink.", schema: SinkShape },
  }),

  route({
    operation: "sink.change",
    at: "PATCH /v1/sinks/:id",
    body: ChangedSink,
    retryable: false,
    unfindable: "sink_not_found",
    input: (request) => ({ ...namedSink(request), change: askedOf(request.body) }),
    summary: "Change a sink",
    description: "Changes the members that are sent. Deliveries go on behind the last acknowledged event.",
    response: { description: "The sink.", schema: SinkShape },
  }),

  route({
    ...OF_ONE,
    operation: "sink.remove",
    at: "DELETE /v1/sinks/:id",
    retryable: false,
    summary: "Remove a sink",
    description: "Nothing more is delivered.",
    response: { description: "It is gone.", schema: Deleted },
  }),

  route({
    ...OF_ONE,
    operation: "sink.test",
    at: "POST /v1/sinks/:id/test",
    retryable: false,
    summary: "Test a sink",
    description: "Sends one record of the type `test`, and says whether the receiver acknowledged it.",
    response: { description: "What became of it.", schema: SinkTested },
  }),

  route({
    ...OF_ONE,
    operation: "sink.rotate",
    at: "POST /v1/sinks/:id/rotate",
    retryable: false,
    summary: "Replace the signing keys of a webhook",
    description: "The old and the new keys sign for 24 hours.",
    response: { description: "The sink, with the new keys.", schema: SinkShape },
  }),
];
