/** The API's schemas of policies. */
import { type Static, Type as t } from "@sinclair/typebox";
import { component, shape } from "../../http/shapes.ts";
import { Finding, WriteBlocked } from "../data/schema.ts";

const Allowed = shape(
  "CheckAllowed",
  {
    allowed: t.Literal(true),
    message: t.String({ examples: ["Nothing objects. Nothing was stored."] }),
    redacted: t.Optional(t.Literal(true)),
    redacted_value: t.Optional(t.String({ description: "What would be stored.", examples: ["to [redacted:email]"] })),
    findings: t.Optional(t.Array(Finding, { description: "What was found." })),
  },
  "A write of this would be stored.",
);

export const CheckResult = component(
  "CheckResult",
  t.Unsafe<Static<typeof Allowed> | Static<typeof WriteBlocked>>({ oneOf: [Allowed, WriteBlocked] }),
);
