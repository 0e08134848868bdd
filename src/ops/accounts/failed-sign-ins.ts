/**
 * Records failed sign-ins in the log of the installation. The first failure of an address is recorded before it is
 * answered. Further failures within a minute are counted and recorded as one event, so that guessing cannot fill the
 * disk. After a crash, the counts of the last minute are missing.
 */
import { BlockList, isIP } from "node:net";
import { networkOf } from "../../core/cell-rate.ts";
import { type Clock, showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import type { Timer } from "../../timer.ts";
import type { WorkspaceEvent } from "../directory/journal.ts";

const WINDOW_MS = 60_000;
/** The most addresses that are counted separately. All others are counted together. */
const MAX_WINDOWS = 50;
/** The most accounts that one event names. */
const MAX_ACCOUNTS = 20;

/**
 * Why a sign-in failed: wrong password or no such account, wrong code, either of them from a signed-in person, too many
 * attempts, the right password while passwords are off, the issuer's answer, or a passkey.
 */
export type FailureReason =
  | "password"
  | "password_again"
  | "second_factor"
  | "second_factor_again"
  | "rate_limited"
  | "issuer_only"
  | "issuer"
  | "passkey";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Addresses of private networks (RFC 1918, RFC 4193, RFC 6598) and of one link (RFC 3927, RFC 4291). */
const PRIVATE = new BlockList();
for (const [net, bits] of [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
] as const)
  PRIVATE.addSubnet(net, bits, "ipv4");
PRIVATE.addSubnet("fc00::", 7, "ipv6");
PRIVATE.addSubnet("fe80::", 10, "ipv6");

/** Returns the members of an event's details about the address of a request. */
export function addressDetails(address: string | null): JsonObject {
  if (address === null) return { address, address_kind: "many" };
  const plain = address.replace(/^::ffff:/, "");
  const version = isIP(plain);
  if (version === 0) return { address, address_kind: "unknown" };
  const family = version === 6 ? "ipv6" : "ipv4";
  const kind = LOOPBACK.check(plain, family) ? "loopback" : PRIVATE.check(plain, family) ? "private" : "public";
  return { address, address_kind: kind };
}

/** Failures of one address that are not recorded yet. */
class Window {
  attempts = 0;
  readonly accounts = new Set<string>();
  unknownAccount = 0;
  readonly reasons: Partial<Record<FailureReason, number>> = {};
  sinceMs = 0;
  untilMs = 0;
  cancel = () => {};

  constructor(readonly address: string | null) {}

  count(accountId: string | null, reason: FailureReason, now: number): void {
    if (this.attempts === 0) this.sinceMs = now;
    this.untilMs = now;
    this.attempts += 1;
    this.reasons[reason] = (this.reasons[reason] ?? 0) + 1;
    if (accountId !== null && this.accounts.size < MAX_ACCOUNTS) this.accounts.add(accountId);
    if (accountId === null && reason === "password") this.unknownAccount += 1;
  }
}

interface FailedSignInsOptions {
  record(event: Omit<WorkspaceEvent, "id">): Promise<void>;
  clock: Clock;
  timer: Timer;
  /** Called when a count could not be recorded. */
  onError(error: unknown): void;
}

export class FailedSignIns implements AsyncDisposable {
  readonly #windows = new Map<string, Window>();
  #closing: Promise<void> = Promise.resolve();

  constructor(private readonly options: FailedSignInsOptions) {}

  /**
   * Records a failure, or counts it. What is written, and when, depends only on the address, so the time of the answer
   * does not reveal whether an account exists.
   * @param accountId null when there is no such account
   * @throws {Failure} `busy` when the failure could not be recorded
   */
  async failed(address: string, accountId: string | null, reason: FailureReason): Promise<void> {
    const network = networkOf(address);
    const isCounted = this.#windows.has(network) || this.#windows.size < MAX_WINDOWS;
    const name = isCounted ? network : "";
    const known = this.#windows.get(name);
    if (known !== undefined) return known.count(accountId, reason, this.options.clock());
    const first = new Window(isCounted ? address : null);
    first.count(accountId, reason, this.options.clock());
    const rest = new Window(first.address);
    rest.cancel = this.options.timer(WINDOW_MS, () => this.#close(name));
    this.#windows.set(name, rest);
    try {
      await this.options.record(eventOf(first));
    } catch (error) {
      // The next failure of the address counts as the first again.
      if (rest.attempts === 0) this.#close(name);
      throw error;
    }
  }

  #close(name: string): void {
    const window = this.#windows.get(name);
    this.#windows.delete(name);
    window?.cancel();
    if (window === undefined || window.attempts === 0) return;
    const recorded = this.options.record(eventOf(window)).catch((error) => this.options.onError(error));
    this.#closing = Promise.all([this.#closing, recorded]).then(() => {});
  }

  /** Records the counted failures. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#windows.keys()) this.#close(name);
    await this.#closing;
  }
}

function eventOf(window: Window): Omit<WorkspaceEvent, "id"> {
  const { address, attempts, accounts, unknownAccount, reasons, sinceMs, untilMs } = window;
  const [only = null, ...others] = accounts;
  const several = others.length > 0;
  return {
    operation: "account.sign_in",
    actor: "system",
    result: "denied",
    details: {
      attempts,
      account_id: several ? null : only,
      ...(several ? { accounts: [...accounts] } : {}),
      unknown_account: unknownAccount,
      reasons,
      ...(attempts > 1 ? { since: showTime(sinceMs), until: showTime(untilMs) } : {}),
      ...addressDetails(address),
    },
  };
}
