/**
 * Workload identity: a token of an issuer that the settings name acts like an API key. It is verified without blocking
 * other requests, and cached for a minute, in which a use costs one hash and one map lookup.
 */

import type { Principal, UnnamedWorkload } from "../../core/writer/contract.ts";
import type { Clock } from "../../ids.ts";
import { plainIssuer } from "../../oidc/answers.ts";
import { IssuerKeys } from "../../oidc/issuer-keys.ts";
import { IssuerRefused, IssuerUnavailable } from "../../oidc/refused.ts";
import { fitsClaims, type WorkloadRule } from "../../oidc/workload-rules.ts";
import { namedIssuer, verifyToken, type WorkloadToken } from "../../oidc/workload-token.ts";
import type { MaybePromise } from "../../store/transaction.ts";
import type { Installation } from "./installation.ts";
import { digestOf } from "./secret.ts";
import { isWorkspace } from "./workspaces.ts";

/** How long a token is cached before it is verified again with the keys that its issuer then publishes, ms. */
const KNOWN_MS = 60_000;
/** The most tokens to cache. The least recently used token is forgotten first. */
const MAX_KNOWN_TOKENS = 10_000;

interface WorkloadsOptions {
  installation: Installation;
  clock: Clock;
  monotonicMs: () => number;
  /** Returns the authorities in the file of a rule. */
  readAuthorities: (file: string) => string;
  /** Returns the id of a workload in a workspace, which makes one if it has none. @throws {Problem} */
  idOf: (workspaceId: string, workload: UnnamedWorkload["workload"]) => Promise<string>;
  /** Called when the keys of an issuer could not be fetched. */
  onTrouble: (issuer: string, error: IssuerUnavailable) => void;
}

interface KnownIssuer {
  /** As the first rule writes it. */
  issuer: string;
  caFile: string | null;
  keys: IssuerKeys;
}

interface CachedToken {
  /** As the token writes it. */
  issuer: string;
  token: WorkloadToken;
  /** What the token may act as, in the order of the rules; never empty. */
  principals: readonly UnnamedWorkload[];
  /** When to verify the token again, ms of the monotonic clock. */
  untilMs: number;
}

export class Workloads {
  /** The issuers of the rules, in their order. A field, since every request reads it. */
  issuers: readonly string[] = [];
  #rules: readonly WorkloadRule[] = [];
  /** By the address of the issuer, without a slash at its end. */
  #issuers = new Map<string, KnownIssuer>();
  readonly #known = new Map<string, CachedToken>();
  /** The ids of workloads, by workspace, issuer and subject. */
  readonly #ids = new Map<string, string>();

  constructor(
    private readonly options: WorkloadsOptions,
    rules: readonly WorkloadRule[],
  ) {
    this.apply(rules);
  }

  /** Replaces the rules. Cached tokens keep only the principals that the new rules give them. */
  apply(rules: readonly WorkloadRule[]): void {
    this.#rules = rules;
    const before = this.#issuers;
    this.#issuers = new Map(
      rules.map(({ issuer, caFile }) => {
        const known = before.get(plainIssuer(issuer));
        const stays = known?.caFile === caFile ? known : { issuer, caFile, keys: this.#keysOf(issuer, caFile) };
        return [plainIssuer(issuer), stays];
      }),
    );
    this.issuers = [...this.#issuers.values()].map(({ issuer }) => issuer);
    for (const [name, { issuer, token }] of [...this.#known]) {
      const principals = this.#principals(issuer, token);
      if (principals.length === 0) this.#known.delete(name);
      else this.#keep(name, { issuer, token, principals, untilMs: 0 });
    }
  }

  /**
   * Returns the principals of a token, in the order of the rules; null when it has expired or must be verified first.
   * Without `use`, a token whose minute is over is still returned, and verified again in the background.
   */
  known(token: string, { use } = { use: true }): readonly UnnamedWorkload[] | null {
    const name = digestOf(token).toHex();
    const known = this.#known.get(name);
    if (known === undefined) return null;
    if (this.options.clock() >= known.token.expiresAt) {
      this.#known.delete(name);
      return null;
    }
    const isStale = this.options.monotonicMs() >= known.untilMs;
    if (isStale && use) return null;
    this.#keep(name, isStale ? { ...known, untilMs: this.options.monotonicMs() + KNOWN_MS } : known);
    if (isStale) void this.verify(token).catch(ignoreRefusal);
    return known.principals;
  }

  /**
   * Verifies a token. Returns its principals, in the order of the rules.
   * @throws {IssuerRefused} with the reason, {IssuerUnavailable}
   */
  async verify(text: string): Promise<readonly UnnamedWorkload[]> {
    const name = digestOf(text).toHex();
    try {
      const issuer = namedIssuer(text);
      const keys = issuer === null ? undefined : this.#issuers.get(plainIssuer(issuer))?.keys;
      if (issuer === null || keys === undefined) throw new IssuerRefused("no rule names its issuer");
      const token = await verifyToken(text, keys.find, { issuer, nowMs: this.options.clock() });
      const principals = this.#principals(issuer, token);
      if (principals.length === 0) throw new IssuerRefused("no rule fits its audience and claims");
      this.#keep(name, { issuer, token, principals, untilMs: this.options.monotonicMs() + KNOWN_MS });
      return principals;
    } catch (error) {
      if (error instanceof IssuerRefused) this.#known.delete(name);
      throw error;
    }
  }

  /** Returns the principal with the id that its workspace knows it by, which is random and given at the first request. */
  named(unnamed: UnnamedWorkload): MaybePromise<Principal> {
    const { workspaceId, workload } = unnamed;
    const name = JSON.stringify([workspaceId, workload.issuer, workload.subject]);
    const known = this.#ids.get(name);
    if (known !== undefined) return { ...unnamed, actor: known };
    return this.options.idOf(workspaceId, workload).then((actor) => {
      if (this.#ids.size >= MAX_KNOWN_TOKENS) this.#ids.clear();
      this.#ids.set(name, actor);
      return { ...unnamed, actor };
    });
  }

  #keep(name: string, known: CachedToken): void {
    this.#known.delete(name);
    this.#known.set(name, known);
    if (this.#known.size <= MAX_KNOWN_TOKENS) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  #keysOf(issuer: string, caFile: string | null): IssuerKeys {
    const { monotonicMs, onTrouble, readAuthorities } = this.options;
    return new IssuerKeys({
      issuer,
      ca: () => (caFile === null ? null : readAuthorities(caFile)),
      monotonicMs,
      onTrouble: (error) => onTrouble(issuer, error),
    });
  }

  #principals(issuer: string, { audiences, claims, subject, onBehalfOf }: WorkloadToken): UnnamedWorkload[] {
    const fitting = this.#rules.filter(
      (rule) =>
        plainIssuer(rule.issuer) === plainIssuer(issuer) &&
        audiences.includes(rule.audience) &&
        fitsClaims(rule.claims, claims) &&
        isWorkspace(this.options.installation.connection, rule.workspaceId),
    );
    const workload = Object.freeze({ issuer, subject });
    const acting = { workload, ...(onBehalfOf && { onBehalfOf }) };
    return fitting.map(({ workspaceId, scope, agents }) => Object.freeze({ workspaceId, scope, agents, ...acting }));
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof IssuerRefused || error instanceof IssuerUnavailable)) throw error;
}
