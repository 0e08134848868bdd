/** Keys that are made and revoked by the command line of one node, while everything fails that can. */
import { governdProcess } from "../cli/governd-process.ts";
import type { Answered, Client } from "../support/client.ts";
import type { Node, Nodes } from "../support/nodes.ts";

/** Between two keys, ms. */
const PAUSE_MS = 2_000;
/** How long a node may take for an answer: it may be frozen, ms. */
const PATIENCE_MS = 6_000;
/** What a command says that is refused whatever else fails: it would test nothing. */
const REFUSED = '"code":"usage"';

interface Revocations {
  revoked: number;
  /** What does not hold, in words. */
  wrong: string[];
}

/** Makes keys of a workspace, uses and revokes them until `isOver`. A key that was revoked is refused by every node at once. */
export async function revocations(nodes: Nodes, workspaceId: string, isOver: () => boolean): Promise<Revocations> {
  const { dataDir } = nodes.nodes[0] as Node;
  const where = ["--data-dir", dataDir, "--workspace", workspaceId];
  const seen: Revocations = { revoked: 0, wrong: [] };
  const run = async (...words: string[]) => {
    const ran = await governdProcess([...words, "--json", ...where]);
    if (ran.err.includes(REFUSED)) throw new Error(ran.err);
    return ran;
  };
  for (; !isOver(); await Bun.sleep(PAUSE_MS)) {
    const made = await run("key", "create");
    if (made.code !== 0) continue;
    const { api_key: apiKey, key_id: id } = made.json<{ api_key: string; key_id: string }>();
    await Promise.all(nodes.clients(apiKey).map(asked));
    if ((await run("key", "revoke", id)).code !== 0) continue;
    seen.revoked++;
    for (const answer of await Promise.all(nodes.clients(apiKey).map(asked))) {
      if (answer === null || answer.status === 401 || answer.status === 503) continue;
      seen.wrong.push(`a key that was revoked is answered ${answer.status} ${answer.text.slice(0, 100)}`);
    }
  }
  return seen;
}

/** What a node answers; null when it gives no answer. */
const asked = (client: Client): Promise<Answered | null> =>
  Promise.race([client.get("/v1/agents").catch(() => null), Bun.sleep(PATIENCE_MS).then(() => null)]);
