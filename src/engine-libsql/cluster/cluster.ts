/**
 * One of several nodes on a libSQL server. It forwards requests to the node that serves their workspace, answers
 * forwarded requests of other nodes, and keeps its copy of the file of the installation no older than a second.
 */

import { Unreachable } from "../../core/writer/storage-failure.ts";
import type { Installation } from "../../ops/directory/installation.ts";
import { findWorkspace } from "../../ops/directory/workspaces.ts";
import { repeat, type Timer } from "../../timer.ts";
import { CACHE_MS, type Coordination } from "../nodes/coordination.ts";
import {
  ALIVE_PATH,
  asSent,
  bodyOf,
  CLIENT_HEADER,
  NodeClient,
  NoNode,
  notForwarded,
  REFRESH_PATH,
} from "./forwarding.ts";
import type { NodeIdentity } from "./identity.ts";
import { Places } from "./locations.ts";

/** How often the copy of the file of the installation is refreshed, ms. */
const POLL_MS = 400;

interface ClusterParts {
  installation: Installation;
  nodes: Coordination;
  identity: NodeIdentity;
  /** Brings the copy of the file of the installation up to date: accounts and sessions. */
  refreshInstallation(): Promise<void>;
  /** Returns the workspace of a request's credentials; null when they are not valid, or not for a single workspace. */
  workspaceOf(request: Request): Promise<string | null>;
  /** The most requests that are forwarded to other nodes at the same time. */
  mostForwarded: number;
  monotonicMs(): number;
  timer: Timer;
  onError(error: unknown): void;
}

/** The shortest time between two refreshes for unknown credentials, ms, so that invented credentials cost little. */
const UNKNOWN_MS = 20;

const CREDENTIALS = ["x-api-key", "authorization", "cookie"] as const;

/** The paths of requests that may concern a workspace. */
const MAY_CONCERN_WORKSPACE = /^\/(v1|mcp|account)(\/|$)/;
const OF_WORKSPACE = /^\/account\/workspaces\/(ws_[0-9a-z]{26})(\/|$)/;
/**
 * The paths of all other requests about accounts. The node that serves the log of the installation answers them, so
 * that one node counts attempts, and has the pending sign-ins by an issuer or a passkey.
 */
const OF_ACCOUNTS = /^\/account(\/|$)/;

export class Cluster implements AsyncDisposable {
  readonly #places: Places;
  readonly #client: NodeClient;
  readonly #endPolling: () => void;
  /** Until when the copy of the file of the installation, and what is cached, may be used, ms of the monotonic clock. */
  #freshUntilMs: number;
  #refreshing: Promise<void> | null = null;

  constructor(private readonly parts: ClusterParts) {
    const { nodes, identity, mostForwarded, monotonicMs, timer, onError } = parts;
    this.#client = new NodeClient(identity, mostForwarded);
    this.#places = new Places({ leases: nodes.leases, monotonicMs, timer, onError });
    this.#freshUntilMs = monotonicMs();
    nodes.announce = () => this.#tellOthers();
    // After a failure, the next request tries again.
    this.#endPolling = repeat(timer, POLL_MS, () => void this.#refresh().catch(() => {}));
  }

  /** Replaces the certificate with which this node authenticates itself to other nodes. */
  use(identity: NodeIdentity): void {
    this.#client.identity = identity;
  }

  /** Announces this node's address to other nodes. @throws {ServerUnavailable} */
  async join(url: string): Promise<void> {
    const { leases } = this.parts.nodes;
    leases.url = url;
    await leases.take(leases.ofNode);
  }

  /**
   * Returns the workspaces among these that this node serves. It takes those that no node serves.
   * @throws {ServerUnavailable}
   */
  async owned(workspaceIds: readonly string[]): Promise<Set<string>> {
    const own = new Set<string>();
    for (const id of workspaceIds) if ((await this.#places.of(id)).isHere) own.add(id);
    return own;
  }

  /**
   * Forwards a client's request to the node that serves its workspace, and returns the response. If that is this node,
   * returns the request, or a copy with an unread body, instead.
   * @throws {Problem} when no node can be reached, or none has answered; {ServerUnavailable}
   */
  async elsewhere(
    request: Request,
    client: string | null,
    setPatience: (patient: boolean) => void,
  ): Promise<Response | Request> {
    const { pathname } = new URL(request.url);
    if (!MAY_CONCERN_WORKSPACE.test(pathname)) return request;
    await this.#freshen();
    const known = await this.#workspaceOf(request, pathname);
    const workspaceId = known ?? (await this.#newWorkspaceOf(request, pathname));
    return workspaceId === null ? request : await this.#sendTo(workspaceId, request, client, setPatience);
  }

  /**
   * Responds to a request of another node. If it is a client's request that was forwarded, returns that request
   * instead.
   * @throws {ServerUnavailable}
   */
  async answer(request: Request): Promise<Response | Request> {
    const { pathname } = new URL(request.url);
    if (pathname === ALIVE_PATH) return new Response(null, { status: 204 });
    if (pathname === REFRESH_PATH) {
      await this.#refreshCopies();
      return new Response(null, { status: 204 });
    }
    await this.#freshen();
    return asSent(request);
  }

  async #workspaceOf(request: Request, pathname: string): Promise<string | null> {
    const { connection, id } = this.parts.installation;
    const [, named] = OF_WORKSPACE.exec(pathname) ?? [];
    if (named !== undefined) return findWorkspace(connection, named) === undefined ? null : named;
    return OF_ACCOUNTS.test(pathname) ? id : this.parts.workspaceOf(request);
  }

  async #sendTo(
    workspaceId: string,
    request: Request,
    client: string | null,
    setPatience: (patient: boolean) => void,
  ): Promise<Response | Request> {
    const first = this.#places.of(workspaceId);
    let place = first instanceof Promise ? await first : first;
    // A process that takes no requests makes only a few commits, so this node serves the request itself.
    if (place.isHere || place.url === null) return request;
    const body = await bodyOf(request);
    let isSpent = false;
    for (let attempts = 1; ; attempts++) {
      if (place.isHere || place.url === null) return new Request(request, { body });
      setPatience(true);
      try {
        // A long body can be sent only once, so not to a node that has gone meanwhile.
        if (body instanceof ReadableStream) {
          if (!(await this.#client.isAlive(place.url))) throw new NoNode(false);
          isSpent = true;
        }
        return await this.#client.forward(place.url, request, body, client);
      } catch (error) {
        if (!(error instanceof NoNode)) throw error;
        this.#places.forget(workspaceId);
        if (error.isSent || isSpent || attempts === 2) throw notForwarded(error.isSent);
      } finally {
        setPatience(false);
      }
      place = await this.#places.of(workspaceId);
    }
  }

  /** As `#workspaceOf`, for credentials that may be so new that only the server knows them. */
  async #newWorkspaceOf(request: Request, pathname: string): Promise<string | null> {
    const { monotonicMs } = this.parts;
    const refreshedMs = this.#freshUntilMs - CACHE_MS;
    if (!CREDENTIALS.some((name) => request.headers.has(name))) return null;
    await Bun.sleep(Math.max(0, refreshedMs + UNKNOWN_MS - monotonicMs()));
    await this.#refresh();
    return this.#workspaceOf(request, pathname);
  }

  async #freshen(): Promise<void> {
    if (this.parts.monotonicMs() >= this.#freshUntilMs) await this.#refresh();
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshNow().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #refreshNow(): Promise<void> {
    const { monotonicMs } = this.parts;
    const askedMs = monotonicMs();
    await this.#refreshCopies();
    this.#freshUntilMs = askedMs + CACHE_MS;
  }

  /** The number of changes comes last, since what is cached is forgotten when it has risen. */
  async #refreshCopies(): Promise<void> {
    await this.parts.refreshInstallation();
    await this.parts.installation.refresh();
  }

  /** Resolves when all other nodes know of a change, or do not use older state any more. */
  async #tellOthers(): Promise<void> {
    const { monotonicMs, nodes: coordination } = this.parts;
    const until = monotonicMs() + CACHE_MS;
    const leftMs = () => Math.max(0, until - monotonicMs());
    try {
      const nodes = await coordination.leases.otherNodes();
      const known = await Promise.all(nodes.map((node) => this.#client.refresh(node, leftMs())));
      if (known.every((isKnown) => isKnown)) return;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    }
    await Bun.sleep(leftMs());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#endPolling();
    await this.#places[Symbol.asyncDispose]();
  }
}

/** Returns the address of the client of a request that another node passed on. */
export const clientOfForwarded = (request: Request): string | null => request.headers.get(CLIENT_HEADER) || null;
