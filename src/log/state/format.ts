/** How a proof of what was stored is recognised, and what says that it is as it was made. */
import type { JsonObject } from "../../json.ts";
import { sha256Hex } from "../hash.ts";
import { canonicalJson } from "../jcs.ts";

export const PROOF_FORMAT = "governd.proof/1";

/** How a file begins that is such a proof, of this format or a later one. */
export const PROOF_BEGINS = /^\s*\{\s*"format"\s*:\s*"governd\.proof\//;

/**
 * Returns the digest of a proof, hex: of its other members, with the digest of its entries in their place.
 * @param entries the SHA-256 of the canonical list of its entries, hex
 */
export const digestOfProof = (others: JsonObject, entries: string): string =>
  sha256Hex(canonicalJson({ ...others, entries }));
