/** Which workloads are let in, as what: the rules of the settings. */
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Scope } from "../operation-facts.ts";

/**
 * What a claim must be. A text with `*` for any characters, or several of which one must fit; of a claim that is an object,
 * its members.
 */
export type ClaimPattern = string | readonly string[] | ClaimPatterns;

export interface ClaimPatterns {
  readonly [claim: string]: ClaimPattern;
}

/** Tokens of one issuer, and what they may do. */
export interface WorkloadRule {
  issuer: string;
  audience: string;
  /** File with the authorities in PEM that vouch for the issuer; null for the usual ones. */
  caFile: string | null;
  workspaceId: string;
  scope: Scope;
  /** Null for every agent. */
  agents: readonly string[] | null;
  claims: ClaimPatterns;
}

/** Reports whether the claims of a token fit all patterns. A claim that the token lacks fits none. */
export function fitsClaims(patterns: ClaimPatterns, claims: JsonObject): boolean {
  return Object.entries(patterns).every(
    ([claim, pattern]) => Object.hasOwn(claims, claim) && fits(pattern, claims[claim]),
  );
}

/** Of a claim that is a list, one item must fit. */
function fits(pattern: ClaimPattern, claim: unknown): boolean {
  if (Array.isArray(claim)) return claim.some((item) => fits(pattern, item));
  if (typeof pattern === "string") return isScalar(claim) && fitsText(pattern, `${claim}`);
  if (Array.isArray(pattern)) return pattern.some((one) => fits(one, claim));
  return isJsonObject(claim) && fitsClaims(pattern as ClaimPatterns, claim);
}

const isScalar = (claim: unknown): claim is string | number | boolean =>
  typeof claim === "string" || typeof claim === "number" || typeof claim === "boolean";

/** Compares without a regular expression: the time is the product of both lengths at most, whatever the pattern. */
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
