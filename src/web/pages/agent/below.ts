/** How many entries are below a prefix. */
import { isCode, type WorkspaceApi } from "../../api/client.ts";
import { ApiProblem } from "../../api/problem.ts";
import type { EntryItem, EntryList, Page } from "../../api/types.ts";

/** The largest page of the API. */
const PAGE_SIZE = 1_000;

/** How many entries have a prefix, and the first of their keys or folders. */
export interface Below {
  entries: number;
  names: string[];
}

/** The most names that are shown. */
const MOST_NAMES = 3;

/** Counts the entries of an agent whose keys begin with a prefix. Folders are counted by the daemon. */
export async function countBelow(
  api: WorkspaceApi,
  agentId: string,
  prefix: string,
  delimiter: string | null = "/",
): Promise<Below> {
  const query = { agent_id: agentId, prefix, delimiter, limit: PAGE_SIZE };
  const below: Below = { entries: 0, names: [] };
  try {
    let isFirst = true;
    for await (const page of api.pages<EntryItem>("/v1/data/list", query)) {
      const { data, prefixes = [] }: Page<EntryItem> & Pick<EntryList, "prefixes"> = page;
      // Each page names all folders.
      const folders = isFirst ? prefixes : [];
      isFirst = false;
      below.entries += data.length + folders.reduce((sum, { entries }) => sum + entries, 0);
      below.names.push(
        ...[...folders.map((folder) => folder.prefix), ...data.map(({ key }) => key)].slice(0, MOST_NAMES),
      );
    }
  } catch (error) {
    if (isCode(error, "data_not_found") || isCode(error, "agent_not_found")) return below;
    // There are too many folders.
    if (delimiter !== null && error instanceof ApiProblem && error.param === "delimiter") {
      return countBelow(api, agentId, prefix, null);
    }
    throw error;
  }
  return { ...below, names: below.names.slice(0, MOST_NAMES) };
}
