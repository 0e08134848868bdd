/** Counting failed sign-ins: what is recorded at once, what is counted, and how much at most. */
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { addressDetails, FailedSignIns } from "../../src/ops/accounts/failed-sign-ins.ts";

/** A counter with a clock and timers that the test moves. */
function counter(fails = false) {
  const recorded: JsonObject[] = [];
  const errors: unknown[] = [];
  const timers: (() => void)[] = [];
  let now = Date.UTC(2026, 0, 1);
  let broken = fails;
  const failures = new FailedSignIns({
    async record({ operation, actor, result, details }) {
      expect([operation, actor, result]).toEqual(["account.sign_in", "system", "denied"]);
      if (broken) throw new Error("the disk is full");
      recorded.push(details);
    },
    clock: () => now,
    timer: (ms, work) => {
      expect(ms).toBe(60_000);
      timers.push(work);
      return () => {};
    },
    onError: (error) => errors.push(error),
  });
  const endMinute = () => {
    now += 60_000;
    for (const work of timers.splice(0)) work();
  };
  return {
    ...{ failures, recorded, errors, endMinute },
    later: (ms: number) => {
      now += ms;
    },
    breakDisk: () => {
      broken = true;
    },
  };
}

describe("failed sign-ins", () => {
  test("the first is recorded at once, the rest of a minute as one event", async () => {
    const { failures, recorded, endMinute, later } = counter();
    await failures.failed("203.0.113.7", "usr_a", "password");
    expect(recorded).toEqual([
      {
        attempts: 1,
        account_id: "usr_a",
        unknown_account: 0,
        reasons: { password: 1 },
        address: "203.0.113.7",
        address_kind: "public",
      },
    ]);
    later(1_000);
    await failures.failed("203.0.113.7", "usr_a", "second_factor");
    later(5_000);
    await failures.failed("203.0.113.7", null, "password");
    await failures.failed("203.0.113.7", "usr_b", "password");
    await failures.failed("203.0.113.7", null, "rate_limited");
    expect(recorded).toHaveLength(1);
    endMinute();
    expect(recorded[1]).toEqual({
      attempts: 4,
      account_id: null,
      accounts: ["usr_a", "usr_b"],
      unknown_account: 1,
      reasons: { second_factor: 1, password: 2, rate_limited: 1 },
      since: "2026-01-01T00:00:01.000Z",
      until: "2026-01-01T00:00:06.000Z",
      address: "203.0.113.7",
      address_kind: "public",
    });
  });

  test("a minute without more is no event, and the next failure is recorded at once again", async () => {
    const { failures, recorded, endMinute } = counter();
    await failures.failed("::1", null, "password");
    endMinute();
    expect(recorded).toHaveLength(1);
    await failures.failed("::1", null, "password");
    expect(recorded).toHaveLength(2);
  });

  test("thousands of addresses are a bounded number of events, with all attempts", async () => {
    const { failures, recorded, endMinute } = counter();
    for (let i = 0; i < 5_000; i++) {
      await failures.failed(`198.18.${i >> 8}.${i & 255}`, `usr_${i}`, "password");
    }
    endMinute();
    expect(recorded).toHaveLength(52);
    expect(recorded.reduce((sum, { attempts }) => sum + (attempts as number), 0)).toBe(5_000);
    const rest = recorded.at(-1) as { accounts: string[] };
    expect(rest).toMatchObject({ address: null, address_kind: "many", account_id: null });
    expect(rest.accounts).toHaveLength(20);
  });

  test("what cannot be recorded is refused; a count that cannot be is reported", async () => {
    const full = counter(true);
    for (let i = 0; i < 2; i++) {
      await expect(full.failures.failed("::1", null, "password")).rejects.toThrow("the disk is full");
    }
    const later = counter();
    for (let i = 0; i < 2; i++) await later.failures.failed("::1", null, "password");
    later.breakDisk();
    await later.failures[Symbol.asyncDispose]();
    expect(later.errors).toHaveLength(1);
  });

  test("the kinds of addresses", () => {
    const kinds = Object.entries({
      "127.0.0.1": "loopback",
      "::1": "loopback",
      "::ffff:127.0.0.1": "loopback",
      "10.1.2.3": "private",
      "172.31.0.1": "private",
      "192.168.1.1": "private",
      "100.64.0.1": "private",
      "169.254.1.1": "private",
      "fd00::1": "private",
      "fe80::1": "private",
      "8.8.8.8": "public",
      "2001:db8::1": "public",
      "": "unknown",
    });
    for (const [address, kind] of kinds) expect(addressDetails(address)).toEqual({ address, address_kind: kind });
  });
});
