/**
 * What the policies found over time, by detector: in how many operations that they refused, and in how many writes that
 * were stored redacted, or as they were and reported. Events say what was found and in which mode, never the text.
 */
import type { Mode } from "../../policy/modes.ts";
import type { Reader } from "../../store/transaction.ts";
import { sqlNames } from "../entry-changes.ts";
import { type ActivityWindow, blockedEvents, eventsIn, INTERVALS, MAX_SCANNED } from "./activity.ts";

/** Numbers of operations, by detector; those that were blocked without one by the policy. */
type ByDetector = Record<string, number>;

interface ScreenedInterval {
  startMs: number;
  blocked: ByDetector;
  /** Null, as the next, where there are too many events to look through. */
  redacted: ByDetector | null;
  reported: ByDetector | null;
}

/** Events of one step. */
const AT_ONCE = 2_000;

/** Every interval of a window, oldest first. `pause` gives way between two steps. */
export async function countScreened(
  reader: Reader,
  window: Omit<ActivityWindow, "agentId">,
  pause: () => Promise<void>,
): Promise<ScreenedInterval[]> {
  const { ms } = INTERVALS[window.interval];
  const whole = { ...window, agentId: null };
  const [first, last] = await eventsIn(reader, whole);
  const isScanned = last - first <= MAX_SCANNED;
  const intervals: ScreenedInterval[] = [];
  for (let startMs = window.startMs; startMs < window.endMs; startMs += ms) {
    intervals.push({ startMs, blocked: {}, redacted: isScanned ? {} : null, reported: isScanned ? {} : null });
  }
  const add = (timestamp: string, member: "blocked" | "redacted" | "reported", detectors: Iterable<string>) => {
    // Where the clock stepped back, an event may be outside of the window that its position is in.
    const counts = intervals[Math.floor((Date.parse(timestamp) - window.startMs) / ms)]?.[member];
    if (counts == null) return;
    for (const detector of detectors) counts[detector] = (counts[detector] ?? 0) + 1;
  };
  for await (const { timestamp, blockedBy, findings } of blockedEvents(reader, whole, pause)) {
    const detectors = detectorsIn(findings, "block");
    // Limits, for instance, find nothing. Neither does an event whose details are erased.
    add(timestamp, "blocked", detectors.size > 0 ? detectors : [blockedBy.replace("policy:", "")]);
  }
  for (let from = first; isScanned && from < last; from += AT_ONCE) {
    for (const [timestamp, findings] of await storedWithFindings(reader, from, Math.min(from + AT_ONCE, last))) {
      add(timestamp, "redacted", detectorsIn(findings, "redact"));
      add(timestamp, "reported", detectorsIn(findings, "audit"));
    }
    await pause();
  }
  return intervals;
}

/** The detectors of findings, as JSON, in one mode. */
function detectorsIn(findings: string, wanted: Mode): Set<string> {
  const all = JSON.parse(findings) as [detector: string, mode: Mode][];
  return new Set(all.flatMap(([detector, mode]) => (mode === wanted ? [detector] : [])));
}

/** Writes among the events from one position to another that were stored with findings. */
const storedWithFindings = (reader: Reader, from: number, to: number) =>
  reader.all<[timestamp: string, findings: string]>(
    `SELECT timestamp,
       (SELECT json_group_array(json_array(value ->> 'detector', value ->> 'mode')) FROM json_each(details, '$.findings'))
     FROM events
     WHERE seq >= ? AND seq < ? AND instr(details, '"findings":[') AND result = 'allowed'
       AND operation IN (${sqlNames("put")})`,
    [from, to],
  );
