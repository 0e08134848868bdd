import type { KnownHead } from "../../src/core/writer/continuity.ts";

/** A head whose hash and time say which event it is of. */
export const headOf = (seq: number): KnownHead => ({ seq, hash: seq.toString(16).padStart(48, "0"), knownMs: seq });
