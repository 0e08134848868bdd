/** The rules in the settings: which workloads are accepted, and with which rights. */
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Scope } from "../operation-facts.ts";

/**
 * The pattern of a claim: a text with `*` for any characters, or several texts of which one must match; for a claim
 * that is an object, the patterns of its members.
 */
export type ClaimPattern = string | readonly string[] | ClaimPatterns;

export interface ClaimPatterns {
  readonly [claim: string]: ClaimPattern;
}

/** The tokens of one issuer that are accepted, and their rights. */
export interface WorkloadRule {
  issuer: string;
  audience: string;
  /** The file with the certificate authorities of the issuer in PEM; null for the default ones. */
  caFile: string | null;
  workspaceId: string;
  scope: Scope;
  /** Null for every agent. */
  agents: readonly string[] | null;
  claims: ClaimPatterns;
}

/** Reports whether the claims of a token match all patterns. A missing claim matches no pattern. */
export function fitsClaims(patterns: ClaimPatterns, claims: JsonObject): boolean {
  return Object.entries(patterns).every(
    ([claim, pattern]) => Object.hasOwn(claims, claim) && fits(pattern, claims[claim]),
  );
}

/** Reports whether a claim matches. If the claim is a list, one item must match. */
function fits(pattern: ClaimPattern, claim: unknown): boolean {
  if (Array.isArray(claim)) return claim.some((item) => fits(pattern, item));
  if (typeof pattern === "string") return isScalar(claim) && fitsText(pattern, `${claim}`);
  if (Array.isArray(pattern)) return pattern.some((one) => fits(one, claim));
  return isJsonObject(claim) && fitsClaims(pattern as ClaimPatterns, claim);
}

const isScalar = (claim: unknown): claim is string | number | boolean =>
  typeof claim === "string" || typeof claim === "number" || typeof claim === "boolean";

/** Compares without a regular expression, so that the time is at most the product of both lengths for any pattern. */
function fitsText(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
