/** The API's schema of findings. */
import { Type as t } from "@sinclair/typebox";
import { countOf, oneOf, shape } from "../../api/shapes.ts";
import { DETECTORS } from "../../screen/detectors.ts";
import { MODES } from "../../screen/modes.ts";

const EXAMPLE_DETECTOR = DETECTORS.email;

export const BlockedBy = t.String({ pattern: "^policy:", examples: [`policy:${EXAMPLE_DETECTOR.policy}`] });

export const Finding = shape(
  "Finding",
  {
    policy: t.String({ description: "`patterns` for patterns of your own.", examples: [EXAMPLE_DETECTOR.policy] }),
    detector: t.String({ description: "A detector, or the name of a pattern.", examples: ["email"] }),
    field: t.String({
      description: "`key`, `value`, `label`, `reason` or a path into the metadata, with `*` for a name that matched.",
      examples: ["value", "metadata.a.b"],
    }),
    tier: t.Optional(
      t.Integer({ minimum: 1, maximum: 2, description: "Of personal data: 1 a person or an account; 2 a device." }),
    ),
    start: countOf("The first UTF-16 code unit of the match."),
    end: countOf("After the last UTF-16 code unit of the match."),
    mode: { ...oneOf(MODES), description: "What happens there." },
  },
  "What a policy found and where. It never contains the text.",
);

/** The findings of policies that only report, in the answer to a value that was stored unchanged. */
export const Reported = t.Optional(t.Array(Finding));
