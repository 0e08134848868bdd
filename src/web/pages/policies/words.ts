/** Modes and detectors in words. */
import { detectorWords } from "../../../screen/detectors.ts";
import type { Mode } from "../../../screen/modes.ts";
import type { ExceptionSetting } from "../../../screen/screening.ts";

export const MODE_OPTIONS: Record<Mode, string> = {
  off: "Off",
  audit: "Audit: store and report",
  redact: "Redact: store without it",
  block: "Block: refuse the write",
};

/** Returns what an exception is about: "Exception …@example.org (Email address)". */
export function exceptionWords({ detector, equals, ends_with: ending, prefixes }: ExceptionSetting): string {
  const where = prefixes === undefined ? "" : `, ${prefixes.join(" ")}`;
  return `Exception ${equals ?? `…${ending}`} (${detectorName(detector)}${where})`;
}

/** Returns what a detector finds, as a name: "Email address". That of a pattern is its own. */
export function detectorName(detector: string): string {
  const words = detectorWords(detector).replace(/^an? /, "");
  return words === detector ? detector : words.charAt(0).toUpperCase() + words.slice(1);
}
