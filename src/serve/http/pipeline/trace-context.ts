/** `traceparent` (W3C Trace Context Level 1, section 3.2). */

/** Version, trace, parent and flags. Versions after 00 may have further fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)/;

/** Returns the known fields of a `traceparent`; null for a malformed one, which is ignored. */
export function traceOf(header: string | null): string | null {
  if (header === null) return null;
  const [known, version] = TRACEPARENT.exec(header) ?? [null];
  return version === "00" && known !== header ? null : known;
}

/** Returns the id of the trace in a valid `traceparent`. */
export const traceIdOf = (traceparent: string): string => traceparent.split("-")[1] as string;
