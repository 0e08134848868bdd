/** Times of the browser's `datetime-local` control. */
import { expect, test } from "bun:test";
import { instant, localTime } from "../../src/web/ui/local-time.ts";

const LAST = "9999-12-31T23:59:59.999Z";

test.each(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati"])(
  "in %s, a time is itself again",
  (zone) => {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      for (const time of ["2026-01-31T08:00:00.000Z", "1969-12-31T12:00:00.000Z", "9999-12-30T12:00:00.000Z"]) {
        expect(instant(localTime(time))).toBe(time);
      }
      // Four digits for the year, wherever the reader is.
      for (const time of [LAST, "9999-12-31T23:00:00.000Z"]) {
        expect(localTime(time)).toMatch(/^9999-12-31T\d\d:\d\d$/);
        expect(instant(localTime(time))).toMatch(/^9999-12-31T/);
      }
      expect((instant("9999-12-31T23:59") as string) <= LAST).toBe(true);
      expect(instant("+012345-01-01T00:00")).toBe(LAST);
      expect([instant(""), localTime(null)]).toEqual([undefined, ""]);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  },
);
