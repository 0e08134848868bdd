/** What each program saw, the same for all. */
export interface Seen {
  enforced: boolean | undefined;
  stored: boolean;
  blockedBy: string | undefined;
  detectors: string[];
  value: string | undefined;
  listed: (string | undefined)[][] | undefined;
  missing: string | undefined;
  refusals: string[] | undefined;
}
