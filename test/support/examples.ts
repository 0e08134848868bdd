/** The worked examples in ARCHITECTURE.md: code blocks that begin with the path of the file they belong to. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = join(import.meta.dir, "../../ARCHITECTURE.md");

export interface ExampleBlock {
  path: string;
  /** The list that the block is a row of; null for a file of its own. */
  list: string | null;
  code: string;
}

/** Every block of the form "// src/path.ts" or "// src/path.ts, a row of LIST". */
export function exampleBlocks(): ExampleBlock[] {
  const found = readFileSync(PAGE, "utf8").matchAll(
    /^```ts\n\/\/ (src\/\S+\.ts)(?:, a row of (\w+))?\n(.*?)^```$/gms,
  );
  return Array.from(found, ([, path, list, code]) => ({
    path: path as string,
    list: list ?? null,
    code: code as string,
  }));
}
