/** What a proof says, in words. */
import type { Place } from "../../log/state/tree.ts";
import type { SourceReport } from "../../verify/report-schema.ts";

type ReportedProof = NonNullable<SourceReport["proof"]>;

type Said = Pick<
  ReportedProof,
  "claim" | "agent_id" | "key" | "prefix" | "entries" | "with_values" | "before" | "after"
>;

/** Returns the line that states what is proved. Values are never repeated. */
export function claimLine(said: Said): string {
  const { claim, agent_id: agent, key, prefix, entries, with_values: hasValues } = said;
  const name = JSON.stringify(key ?? prefix);
  const under = key === null ? ` whose key begins with ${name}` : ` under ${name}`;
  const shown = hasValues ? "with the value in the file" : "with the digest in the file";
  switch (claim) {
    case "held":
      return `  held: ${agent} had an entry${under}, ${shown}`;
    case "absent":
      return `  absent: ${agent} had no entry${under}; ${neighbours(said)}`;
    case "complete": {
      const many = entries === 1 ? "the 1 entry of the file was all" : `the ${entries} entries of the file were all`;
      const which = prefix === null ? "" : under;
      const all = entries === 0 ? `${agent} had no entry${which}` : `${many} that ${agent} had${which}, ${shown}`;
      return `  complete: ${all}; ${neighbours(said)}`;
    }
  }
}

function neighbours({ before, after }: Pick<Said, "before" | "after">): string {
  if (before === null && after === null) return "nothing is before or behind it";
  const left = before === null ? "nothing is before it" : `the entry before it is ${nameOf(before)}`;
  const right = after === null ? "nothing is behind it" : `the entry behind it is ${nameOf(after)}`;
  return `${left}, and ${right}`;
}

const nameOf = ({ agent_id, key }: Place): string => `${JSON.stringify(key)} of ${agent_id}`;

const RESTS_ON: Readonly<Record<ReportedProof["time_rests_on"], string>> = {
  time_stamp: "that it was there by then is the word of the authority of time stamps named below",
  witness: "that it was there by then is the word of the witnesses named below",
  kept_seal: "that it was there is shown by the seal that you gave: when you got that, you know",
  clock: "that time is the word of the daemon's clock alone, since no witness, time stamp or kept seal counts",
};

/** Returns the lines of a report on a proof. */
export function reportedProofLines(proof: ReportedProof): string[] {
  return [
    claimLine(proof),
    `  moment: right after event ${proof.seq} of the workspace, by the state root that was recorded at ${proof.recorded_at}`,
    `  time: ${RESTS_ON[proof.time_rests_on]}`,
  ];
}
