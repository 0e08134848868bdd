/**
 * Counts findings over time by detector: the operations that policies refused, and the writes that were stored redacted
 * or unchanged with a report. Events state the detector and the mode of a finding, never the text.
 */
import type { Mode } from "../../../screen/modes.ts";
import type { Reader } from "../../../store/transaction.ts";
import { sqlNames } from "../entry-changes.ts";
import { type ActivityWindow, blockedEvents, eventsIn, INTERVALS, MAX_SCANNED } from "./activity.ts";

/** Numbers of operations by detector. Operations that were blocked without a detector are counted by policy. */
type ByDetector = Record<string, number>;

interface ScreenedInterval {
  startMs: number;
  blocked: ByDetector;
  /** This and `reported` are null when there are too many events to read. */
  redacted: ByDetector | null;
  reported: ByDetector | null;
}

/** The events of one step. */
const AT_ONCE = 2_000;

/** Returns every interval of a window, the oldest first. @param pause gives other work a turn between two steps */
export async function countScreened(
  reader: Reader,
  window: Omit<ActivityWindow, "agentId">,
  pause: () => Promise<void>,
): Promise<ScreenedInterval[]> {
  const ms = INTERVALS[window.interval];
  const whole = { ...window, agentId: null };
  const [first, last] = await eventsIn(reader, whole);
  const isScanned = last - first <= MAX_SCANNED;
  const intervals: ScreenedInterval[] = [];
  for (let startMs = window.startMs; startMs < window.endMs; startMs += ms) {
    intervals.push({ startMs, blocked: {}, redacted: isScanned ? {} : null, reported: isScanned ? {} : null });
  }
  const add = (timeMs: number, member: "blocked" | "redacted" | "reported", detectors: Iterable<string>) => {
    // If the clock was set back, an event's time may be outside of the window of its position.
    const counts = intervals[Math.floor((timeMs - window.startMs) / ms)]?.[member];
    if (counts == null) return;
    for (const detector of detectors) counts[detector] = (counts[detector] ?? 0) + 1;
  };
  for await (const { timeMs, blockedBy, findings } of blockedEvents(reader, whole, pause)) {
    const detectors = detectorsIn(findings, "block");
    // Some refusals have no findings: those by limits, for instance, and those whose details are erased.
    add(timeMs, "blocked", detectors.size > 0 ? detectors : [blockedBy.replace("policy:", "")]);
  }
  for (let from = first; isScanned && from < last; from += AT_ONCE) {
    for (const [timeMs, findings] of await storedWithFindings(reader, from, Math.min(from + AT_ONCE, last))) {
      add(timeMs, "redacted", detectorsIn(findings, "redact"));
      add(timeMs, "reported", detectorsIn(findings, "audit"));
    }
    await pause();
  }
  return intervals;
}

/** Returns the detectors in findings of one mode. @param findings as JSON */
function detectorsIn(findings: string, wanted: Mode): Set<string> {
  const all = JSON.parse(findings) as [detector: string, mode: Mode][];
  return new Set(all.flatMap(([detector, mode]) => (mode === wanted ? [detector] : [])));
}

/** Returns the writes from one position to another that were stored with findings. */
const storedWithFindings = (reader: Reader, from: number, to: number) =>
  reader.all<[timeMs: number, findings: string]>(
    `SELECT time,
       (SELECT json_group_array(json_array(value ->> 'detector', value ->> 'mode')) FROM json_each(details, '$.findings'))
     FROM events
     WHERE seq >= ? AND seq < ? AND instr(details, '"findings":[') AND result = 'allowed'
       AND operation IN (${sqlNames("put")})`,
    [from, to],
  );
