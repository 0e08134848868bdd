/**
 * Which node serves which workspace, as far as this node knows: its own leases, which it renews, and those of others. A
 * wrong entry costs a detour or a refused commit, but never leads to an answer that is not in the log.
 */

import { repeat, type Timer } from "../../timer.ts";
import { LEASE_MS, type Leases } from "../leases.ts";

/** How often own leases are renewed, ms. */
const RENEW_MS = 3_000;
/** The lease of a workspace without requests for this long is not renewed, ms. */
const IDLE_MS = 60_000;

/**
 * Where a workspace is served: by this node, or at another node's address, which is null if that node takes no
 * requests.
 */
type Location = { isHere: true } | { isHere: false; url: string | null };

const HERE: Location = { isHere: true };
/** Where workspaces are when this node ends: it takes none any more, and serves what was sent to it. */
const ENDING: Location = { isHere: false, url: null };

interface CachedLocation {
  place: Location;
  /** Until when the place is valid, ms of the monotonic clock. */
  untilMs: number;
  usedMs: number;
}

interface PlacesParts {
  leases: Leases;
  monotonicMs(): number;
  timer: Timer;
  onError(error: unknown): void;
}

export class Places implements AsyncDisposable {
  readonly #known = new Map<string, CachedLocation>();
  /** Requests for leases that are running, by workspace. */
  readonly #asked = new Map<string, Promise<Location>>();
  readonly #endRenewal: () => void;
  #renewal: Promise<void> = Promise.resolve();
  #isEnding = false;

  constructor(private readonly parts: PlacesParts) {
    this.#endRenewal = repeat(parts.timer, RENEW_MS, () => {
      this.#renewal = this.#renew().catch(parts.onError);
    });
  }

  /** Returns where a workspace is served. Takes the workspace if no node serves it. @throws {ServerUnavailable} */
  of(workspaceId: string): Location | Promise<Location> {
    if (this.#isEnding) return ENDING;
    const known = this.#known.get(workspaceId);
    const now = this.parts.monotonicMs();
    if (known === undefined || known.untilMs <= now) return this.#ask(workspaceId);
    known.usedMs = now;
    return known.place;
  }

  /** Forgets where a workspace is served; to be called when the other node did not answer. */
  forget(workspaceId: string): void {
    if (this.#known.get(workspaceId)?.place.isHere === false) this.#known.delete(workspaceId);
  }

  #ask(workspaceId: string): Promise<Location> {
    const asked =
      this.#asked.get(workspaceId) ?? this.#take(workspaceId).finally(() => this.#asked.delete(workspaceId));
    this.#asked.set(workspaceId, asked);
    return asked;
  }

  async #take(workspaceId: string): Promise<Location> {
    const { leases, monotonicMs } = this.parts;
    // The lease counts from before the request, so that it does not seem to last longer than it does.
    const askedMs = monotonicMs();
    const lease = await leases.take(workspaceId);
    const place: Location = lease.isOwn ? HERE : { isHere: false, url: lease.url };
    this.#known.set(workspaceId, { place, untilMs: askedMs + lease.leftMs, usedMs: askedMs });
    return place;
  }

  async #renew(): Promise<void> {
    const { leases, monotonicMs } = this.parts;
    const askedMs = monotonicMs();
    const own: string[] = [];
    const idle: string[] = [];
    for (const [workspaceId, { place, untilMs, usedMs }] of this.#known) {
      if (!place.isHere) {
        if (untilMs <= askedMs) this.#known.delete(workspaceId);
      } else if (usedMs + IDLE_MS > askedMs) own.push(workspaceId);
      else idle.push(workspaceId);
    }
    for (const workspaceId of idle) this.#known.delete(workspaceId);
    if (idle.length > 0) await leases.giveUp(...idle);
    const kept = new Set(await leases.renew([leases.ofNode, ...own]));
    if (!kept.has(leases.ofNode)) await leases.take(leases.ofNode);
    for (const workspaceId of own) {
      const known = this.#known.get(workspaceId);
      if (!kept.has(workspaceId)) this.#known.delete(workspaceId);
      else if (known !== undefined) known.untilMs = askedMs + LEASE_MS;
    }
  }

  /** Gives up all leases, also those that are just being taken, so that other nodes serve the workspaces at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#endRenewal();
    this.#isEnding = true;
    await Promise.allSettled([this.#renewal, ...this.#asked.values()]);
    this.#known.clear();
    const { leases, onError } = this.parts;
    await leases.endOf(leases.node).catch(onError);
  }
}
