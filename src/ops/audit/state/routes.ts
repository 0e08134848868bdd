/** The HTTP route of proofs of what was stored. */
import { route } from "../../../api/route.ts";
import { parseTimestamp } from "../../../api/timestamp.ts";
import { invalid, Problem } from "../../../problem.ts";
import { Proof, ProofRequest } from "./schema.ts";

const ONE_OF = 'Send one of "key", "prefix" and "complete": true.';

export const proofRoutes = [
  route({
    operation: "proof.create",
    at: "POST /v1/proofs",
    // A stored answer would keep keys of other agents after their erasure.
    retryable: false,
    body: ProofRequest,
    input: ({ body, principal }) => {
      const { agent_id: agentId, at, key, prefix, complete, with_values: withValues = false } = body;
      const given = Object.entries({ key, prefix, complete }).filter(([, one]) => one !== undefined);
      if (given.length !== 1) throw invalid(ONE_OF, given[1]?.[0] ?? "key");
      if (withValues && principal.scope === "auditor") throw new Problem("forbidden", NO_VALUES);
      return {
        agentId,
        atMs: parseTimestamp(at) as number,
        ...(key !== undefined && { key }),
        ...(prefix !== undefined && { prefix }),
        withValues,
      };
    },
    summary: "Prove what was stored",
    description:
      "A file that proves what an agent had stored at the newest state root at or before a time: that a key was held, that a key or every key under a prefix was absent, or that these are all entries of the agent or under the prefix. Anyone can check it with the public key, without the daemon: `governd verify proof.json --public-key KEY`. The values are in it only with `with_values`, which an auditor may not ask for. An absence is proved by the two neighbouring entries, which the file names, also those of another agent.",
    response: { description: "The proof.", schema: Proof },
    problems: ["moment_gone", "seal_not_found"],
  }),
];

const NO_VALUES = "An auditor does not see values: leave out with_values, and the proof has their digests.";
