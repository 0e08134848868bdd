/** Modes and detectors in words. */
import { detectorWords } from "../../../policy/detectors.ts";
import type { Mode } from "../../../policy/modes.ts";

export const MODE_OPTIONS: Record<Mode, string> = {
  off: "Off",
  audit: "Audit: store and report",
  redact: "Redact: store without it",
  block: "Block: refuse the write",
};

/** Returns what a detector finds, as a name: "Email address". That of a pattern is its own. */
export function detectorName(detector: string): string {
  const words = detectorWords(detector).replace(/^an? /, "");
  return words === detector ? detector : words.charAt(0).toUpperCase() + words.slice(1);
}
