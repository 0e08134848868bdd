/** The API's schemas of policies. */
import { type Static, Type as t } from "@sinclair/typebox";
import { component, shape } from "../../http/shapes.ts";
import { WriteBlocked } from "../data/schema.ts";

const Allowed = shape(
  "CheckAllowed",
  { allowed: t.Literal(true), message: t.String({ examples: ["Nothing objects. Nothing was stored."] }) },
  "A write of this would be stored.",
);

export const CheckResult = component(
  "CheckResult",
  t.Unsafe<Static<typeof Allowed> | Static<typeof WriteBlocked>>({ oneOf: [Allowed, WriteBlocked] }),
);
