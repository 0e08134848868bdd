/**
 * The policy decision on one write: pure, the same answer for the same input. Findings say where and
 * what kind, never the text.
 */
import type { JsonObject } from "../json.ts";
import { type Field, fieldsOf } from "./fields.ts";
import { type Finding, type Hit, PII_TIERS } from "./finding.ts";
import { describe } from "./message.ts";
import { screen } from "./screen.ts";

export type { Finding } from "./finding.ts";

/** Which policies are on. */
export interface Policies {
  blockPii: boolean;
  blockSecrets: boolean;
}

/** What is about to be stored. */
export interface Write {
  key: string;
  value: string;
  metadata: JsonObject;
}

export type Decision =
  | { allowed: true }
  | {
      allowed: false;
      blockedBy: "policy:block_pii" | "policy:block_secrets";
      message: string;
      findings: Finding[];
    };

/**
 * Screens key, value and every string of the metadata (names and numbers too). When both policies
 * match, `blockedBy` names `policy:block_secrets` and the findings name both.
 */
export function decide(policies: Policies, write: Write): Decision {
  if (!policies.blockPii && !policies.blockSecrets) return { allowed: true };
  const wanted = { pii: policies.blockPii, secrets: policies.blockSecrets };

  const matched: { field: Field; hits: readonly Hit[] }[] = [];
  for (const field of fieldsOf(write.key, write.value, write.metadata)) {
    const hits = screen(field.text, field.context, wanted);
    if (hits.length > 0) matched.push({ field, hits });
  }
  if (matched.length === 0) return { allowed: true };

  const names = new Set(matched.filter(({ field }) => field.isName).map(({ field }) => pathKey(field.path)));
  const findings = matched.flatMap(({ field, hits }) =>
    hits.map((hit) => finding(hit, shownPath(field.path, names))),
  );
  const secret = findings.some((one) => one.policy === "block_secrets");
  return {
    allowed: false,
    blockedBy: secret ? "policy:block_secrets" : "policy:block_pii",
    message: describe(findings),
    findings,
  };
}

/** Touches what every text does, and what only other alphabets and long tokens do. */
const SAMPLE: Write = {
  key: "note/1",
  value: "Привет. The customer in Köln asked on Monday about invoice 2024-1093, see build 7f3c9ad1e2b4.",
  metadata: {},
};

/** Builds the tables of these policies, for which the first write would otherwise wait, 20 to 60 ms. */
export function prepare(policies: Policies): void {
  decide(policies, SAMPLE);
}

function finding(hit: Hit, field: string): Finding {
  const { policy, detector, start, end } = hit;
  if (detector in PII_TIERS) {
    return { policy, detector, tier: PII_TIERS[detector as keyof typeof PII_TIERS], field, start, end };
  }
  return { policy, detector, field, start, end };
}

/** The path as shown, with `*` for each name that matched: a name can be the personal data itself. */
function shownPath(path: readonly string[], matchedNames: ReadonlySet<string>): string {
  if (matchedNames.size === 0) return path.join(".");
  return path.map((part, i) => (matchedNames.has(pathKey(path.slice(0, i + 1))) ? "*" : part)).join(".");
}

function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}
