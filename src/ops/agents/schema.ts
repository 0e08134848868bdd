/** The API's schemas of agents. */
import { Type as t } from "@sinclair/typebox";
import { AgentId } from "../../api/fields.ts";
import {
  Actor,
  Count,
  component,
  countOf,
  listOf,
  nullable,
  oneOf,
  shape,
  Time,
  usuallyNull,
  VersionId,
} from "../../api/shapes.ts";
import { Policies } from "../config/schema.ts";
import { Reported } from "../data/finding-schema.ts";

export const AgentShape = shape("Agent", {
  agent_id: AgentId,
  state: oneOf(["active", "suspended"]),
  entries: Count,
  checkpoints: Count,
  events: t.Integer({ minimum: 1, description: "The length of its chain." }),
  config_version: nullable(VersionId),
  policies: Policies,
  first_activity_at: Time,
  last_activity_at: { ...Time, description: "When the agent last did something itself." },
  blocked_24h: countOf("Blocked by a policy in the last 24 hours."),
  blocked_by_hour: t.Array(Count, {
    minItems: 24,
    maxItems: 24,
    description: "The same by hour: the hour that ends now is the last.",
  }),
  suspended_at: usuallyNull(Time),
  suspended_by: usuallyNull(Actor),
  suspended_reason: usuallyNull(t.String()),
  findings: Reported,
});

export const AgentList = component("AgentList", listOf(AgentShape));
