/** Makes API keys: checks what is asked for, and states the new key in the form of its event. */
import { isAgentId } from "../../agent-id.ts";
import { type IdSource, LAST_MOMENT_MS, type RandomPool, showTimeOrNull } from "../../ids.ts";
import { isNetwork } from "../../networks.ts";
import type { KeyRequest } from "../../operation-facts.ts";
import { invalid } from "../../problem.ts";
import { digestOf } from "../directory/secret.ts";
import { makeWorkspaceSecret } from "../directory/workspace-secret.ts";
import { nameProblem } from "../directory/workspaces.ts";

/** The key that is created with a workspace. */
export const FIRST_KEY: KeyRequest = {
  label: "first key",
  scope: "full",
  agents: null,
  networks: null,
  expiresInMs: null,
};
/** The most agents that one key can be limited to. */
export const KEY_AGENTS_MAX = 1_000;
/** The most networks that one key can be limited to. */
export const KEY_NETWORKS_MAX = 100;

/** Where a key is made: its workspace, the time (ms since the Unix epoch), and the sources of ids and randomness. */
interface Making {
  workspaceId: string;
  nowMs: number;
  ids: IdSource;
  random: RandomPool;
}

/**
 * Makes a key. Returns its text, which is shown only now, and what its event states.
 * @throws {Problem} `invalid_request` when the request is not valid
 */
export function makeKey({ workspaceId, nowMs, ids, random }: Making, request: KeyRequest) {
  refuseBadRequest(request);
  const { label, scope, agents, networks, expiresInMs } = request;
  const expiresAt = expiresInMs === null ? null : nowMs + expiresInMs;
  if (expiresAt !== null && expiresAt > LAST_MOMENT_MS) {
    throw invalid("The key would expire after the year 9999: choose a shorter time, or no expiry.");
  }
  const apiKey = makeWorkspaceSecret("gov_", workspaceId, random);
  const details = {
    key_id: ids.next("key"),
    key_digest: digestOf(apiKey).toHex(),
    label,
    scope,
    agents: agents && [...agents],
    networks: networks && [...networks],
    expires_at: showTimeOrNull(expiresAt),
  };
  return { apiKey, expiresAt, details };
}

/** @throws {Problem} `invalid_request` */
export function refuseBadNetworks(networks: readonly string[] | null): void {
  if (networks === null) return;
  if (networks.length === 0 || networks.length > KEY_NETWORKS_MAX) {
    throw invalid(`A key can be limited to 1 to ${KEY_NETWORKS_MAX} networks.`);
  }
  if (!networks.every(isNetwork)) {
    throw invalid("A network is an IP address or a range in CIDR form: 192.0.2.7, 10.0.0.0/8, 2001:db8::/32.");
  }
}

function refuseBadRequest({ label, agents, networks, expiresInMs }: KeyRequest): void {
  refuseBadNetworks(networks);
  const problem = label === null ? null : nameProblem(label);
  if (problem) throw invalid(`The label of a key must ${problem}.`);
  if (agents !== null && (agents.length === 0 || agents.length > KEY_AGENTS_MAX)) {
    throw invalid(`A key can be limited to 1 to ${KEY_AGENTS_MAX} agents.`);
  }
  if (agents?.some((agent) => !isAgentId(agent))) {
    throw invalid("An agent's id is 1 to 128 of the characters A-Z a-z 0-9 . _ : @ ~ -");
  }
  if (expiresInMs !== null && expiresInMs <= 0) throw invalid("A key must expire in the future: for example 90d.");
}
