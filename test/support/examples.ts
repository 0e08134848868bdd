/** The worked examples of CONTRIBUTING.md: code blocks whose first line says where they belong. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = join(import.meta.dir, "../../CONTRIBUTING.md");

export interface ExampleBlock {
  path: string;
  /** Where the code goes in an existing file: into a list, or before it. Null for a file of its own. */
  place: { kind: "row" | "before"; list: string } | null;
  code: string;
}

/** Returns every block that begins "// path.ts", "// path.ts, a row of LIST" or "// path.ts, before LIST". */
export function exampleBlocks(): ExampleBlock[] {
  const found = readFileSync(PAGE, "utf8").matchAll(
    /^```ts\n\/\/ (\S+\.ts)(?:, (a row of|before) (\w+))?\n(.*?)^```$/gms,
  );
  return Array.from(found, ([, path, kind, list, code]) => ({
    path: path as string,
    place: list === undefined ? null : { kind: kind === "before" ? "before" : "row", list },
    code: code as string,
  }));
}
