/** The adapters of docs/integrations.md, exactly as they stand on the page: each code block with a name is a file. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const PAGE = readFileSync(join(ROOT, "docs/integrations.md"), "utf8");

/** The code of each block by its name. */
export const BLOCKS: ReadonlyMap<string, string> = new Map(
  Array.from(PAGE.matchAll(/^```\w+ ([\w.-]+)\n(.*?)^```$/gms), ([, name, code]) => [name as string, code as string]),
);

/** Writes the blocks into a folder in which imports of packages work. */
export class Adapters implements Disposable {
  readonly directory = join(ROOT, ".cache", `adapters-${process.pid}`);

  constructor() {
    mkdirSync(this.directory, { recursive: true });
    for (const [name, code] of BLOCKS) writeFileSync(join(this.directory, name), code);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the modules are those of a page
  import(name: string): Promise<any> {
    return import(join(this.directory, name));
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
