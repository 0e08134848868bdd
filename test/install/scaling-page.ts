/** The code blocks of docs/scaling.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = readFileSync(join(import.meta.dir, "../../docs/scaling.md"), "utf8");

/** Returns the page's first block of a language that holds a text. @throws {Error} when there is none */
export function block(language: string, holds: string): string {
  for (const [, is, text = ""] of PAGE.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (is === language && text.includes(holds)) return text;
  }
  throw new Error(`docs/scaling.md has no ${language} with ${holds}`);
}
