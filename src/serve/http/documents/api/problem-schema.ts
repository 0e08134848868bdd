/** The form of errors, as the API's documents describe it. `api/problem-document.ts` makes them. */
import { Type as t } from "@sinclair/typebox";
import { problemBody } from "../../../../api/problem-document.ts";
import { component, nullable, oneOf } from "../../../../api/shapes.ts";
import { Finding } from "../../../../ops/data/finding-schema.ts";
import { PROBLEMS, Problem } from "../../../../problem.ts";

const EXAMPLE = new Problem("rate_limited", "This key sends more requests than it may. Wait, then send fewer.");

export const ProblemSchema = component(
  "Problem",
  t.Object(
    {
      type: t.String({ description: "A URN of the code.", examples: ["urn:governd:problem:invalid_request"] }),
      title: t.String(),
      status: t.Integer(),
      detail: t.String({ description: "What to do next, for a person." }),
      code: { ...oneOf(Object.keys(PROBLEMS)), description: "Stable, for programs." },
      param: t.Optional(t.String({ description: "The offending field, parameter or header." })),
      request_id: t.String(),
      blocked_by: t.Optional(t.String({ description: "With `blocked` and `restore_blocked`: the policy." })),
      quota: t.Optional(
        t.Unsafe<string>({
          ...oneOf(["entries", "bytes", "answers"]),
          description: "With `quota_exceeded`: which quota.",
        }),
      ),
      limit: t.Optional(t.Integer({ description: "With `quota_exceeded`: the quota." })),
      count: t.Optional(t.Integer({ description: "With `count_mismatch`: how many entries there are." })),
      used: t.Optional(t.Integer({ description: "With `quota_exceeded`: how much the workspace holds." })),
      key: t.Optional(
        t.String({ description: "With `restore_blocked`: the entry, unless the policies object to its key." }),
      ),
      current_version: t.Optional(
        nullable(t.String({ description: "With `version_conflict`: the version that there is; null for none." })),
      ),
      findings: t.Optional(t.Array(Finding)),
    },
    {
      additionalProperties: false,
      description: "RFC 9457. It never repeats a value that was sent.",
      examples: [JSON.parse(problemBody(EXAMPLE, "req_5f2c1d8e9a3b4c7d0000002a"))],
    },
  ),
);
