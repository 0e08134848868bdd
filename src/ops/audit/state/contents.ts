/** Reads the contents that a proof with values shows. */
import { readAgent } from "../../../core/rows/agents.ts";
import { FRESH, freshBounds } from "../../../core/rows/expiry.ts";
import type { StateLeaf } from "../../../log/state/tree.ts";
import { Problem } from "../../../problem.ts";
import { freshAt, type Viewer } from "../../../screen/retention.ts";
import type { Reader } from "../../../store/transaction.ts";
import { nextTurn } from "../../../timer.ts";

/** The longest values of one proof together, characters. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

type Content = [value: string, metadata: string, salt: string];

const CONTENT = "SELECT value, metadata, lower(hex(salt)) FROM entries";
const PRESENT = `${CONTENT} WHERE agent = ? AND key = ? AND live_to IS NULL AND written_seq = ? AND ${FRESH}`;
const BY_ID = `${CONTENT} WHERE id = ? AND ${FRESH}`;
const ENDED = "SELECT written_seq, id FROM entries WHERE agent = ? AND live_to > ?";

/**
 * Returns the contents of leaves of an agent's state by their versions: members of canonical JSON, each before a comma. Null when one is no
 * longer kept, or does not exist for the viewer.
 * @param seq the position of the newest event of the state
 * @throws {Problem} `invalid_request` when they are too long together
 */
export async function contentsOf(
  reader: Reader,
  agentId: string,
  leaves: readonly StateLeaf[],
  seq: number,
  viewer: Viewer,
): Promise<Map<number, string> | null> {
  const contents = new Map<number, string>();
  const agent = await readAgent(reader, agentId);
  if (agent === null) return leaves.length === 0 ? contents : null;
  const fresh = freshBounds(freshAt(agent.policies, viewer));
  const ended = new Map(await reader.all<[number, number]>(ENDED, [agent.firstSeq, seq]));
  let characters = 0;
  for (const { key, version } of leaves) {
    const id = ended.get(version);
    const row =
      (await reader.get<Content>(PRESENT, [agent.firstSeq, key, version, ...fresh])) ??
      (id === undefined ? undefined : await reader.get<Content>(BY_ID, [id, ...fresh]));
    if (row === undefined) return null;
    const [value, metadata, salt] = row;
    const text = `"metadata":${metadata},"salt":"${salt}","value":${value},`;
    contents.set(version, text);
    characters += text.length;
    if (characters > MOST_CHARACTERS) throw tooLong();
    if (contents.size % 100 === 0) await nextTurn();
  }
  return contents;
}

const tooLong = (): Problem =>
  new Problem(
    "invalid_request",
    `The values are longer than ${MOST_CHARACTERS} characters together: leave out with_values, or send a prefix of fewer entries.`,
    { param: "with_values" },
  );
