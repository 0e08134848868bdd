/** How much of its quota a workspace has used. */
import type { Reader } from "../../store/transaction.ts";

/** Never changes in the life of a file. */
const pageSizes = new WeakMap<Reader, number>();

/**
 * Bytes of the pages of a workspace's database that hold something, what is not committed yet included; null while
 * `more` bytes fit below `limit`, which is cheaper to say.
 */
export async function usedBytesPast(reader: Reader, limit: number, more: number): Promise<number | null> {
  const pageSize = pageSizes.get(reader) ?? (await ask(reader, "page_size"));
  pageSizes.set(reader, pageSize);
  const pages = await ask(reader, "page_count");
  if (pages * pageSize + more <= limit) return null;
  const used = (pages - (await ask(reader, "freelist_count"))) * pageSize;
  return used + more > limit ? used : null;
}

async function ask(reader: Reader, pragma: string): Promise<number> {
  const answer = await reader.value<number>(`PRAGMA ${pragma}`);
  if (answer === undefined) throw new Error(`the database does not tell its ${pragma}`);
  return answer;
}
