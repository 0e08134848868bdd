/** The shapes of seals and of what proves and carries them, in the words of the API. */
import { Type as t } from "@sinclair/typebox";
import { closed, component, nullable, oneOf, Time } from "../../http/shapes.ts";

/** A C2SP tlog-checkpoint. */
export const Seal = t.String({
  description: "Origin, number of events and root of their tree, signed (C2SP tlog-checkpoint).",
  examples: [
    "governd.example.org/ws_01h455vb4pex5vsknk084sn02q\n120\nuTdt9lRY4OuE3HWVbvJY8l9X3XlUJ9NvJk3p5vFzT2w=\n\n— governd.example.org/ws_01h455vb4pex5vsknk084sn02q …\n",
  ],
});

export const Receipt = t.String({
  description:
    "The event, its inclusion proof and the seal (C2SP tlog-proof). `governd verify` checks it alone.",
});

const sealingKey = {
  origin: t.String({ description: "What its seals begin with: a host and the workspace." }),
  verifier_key: t.String({ description: "The key in the form of C2SP signed-note." }),
  public_key: t.String({ description: "The key in PEM (SubjectPublicKeyInfo)." }),
  fingerprint: t.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of its 32 bytes." }),
  announced_seq: t.Integer({ minimum: 0, description: "The event that names it." }),
};

export const SealingKey = component(
  "SealingKey",
  t.Object({ ...sealingKey, earlier: t.Array(t.Object(sealingKey, closed)) }, closed),
);

const Tree = t.Object(
  { size: t.Integer({ minimum: 0 }), root: t.String({ description: "Base64." }) },
  closed,
);

export const Consistency = component(
  "Consistency",
  t.Object({ from: Tree, to: Tree, proof: t.Array(t.String({ pattern: "^[0-9a-f]{64}$" })) }, closed),
);

export const Anchors = component(
  "Anchors",
  t.Object(
    {
      anchors: t.Array(
        t.Object(
          {
            kind: oneOf(["command", "webhook", "witness"]),
            name: nullable(t.String({ description: "A host, or a witness's name; null for a command." })),
            anchored_at: nullable(Time),
            seal_size: nullable(
              t.Integer({ minimum: 1, description: "Events that its newest seal covers." }),
            ),
            sealed_at: nullable(Time),
            pending_since: nullable(Time),
            failures: t.Integer({ minimum: 0, description: "How often the seal that waits was refused." }),
          },
          closed,
        ),
      ),
    },
    {
      ...closed,
      description:
        "`anchored_at` is when its newest seal was taken, `sealed_at` when that was made; both are null while it is not known to have one. `pending_since` is null unless a newer one waits.",
    },
  ),
);
