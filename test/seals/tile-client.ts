/** A stock client of transparency logs, in Go: see tile-client.go. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildGo } from "../go.ts";
import type { TemporaryDirectory } from "../temporary.ts";

export class TileClient {
  readonly #directory: TemporaryDirectory;
  readonly #program: string;

  constructor(directory: TemporaryDirectory) {
    this.#directory = directory;
    this.#program = directory.join("tile-client");
    buildGo([join(import.meta.dir, "tile-client.go")], this.#program);
  }

  /** Reads and checks a log. Returns what it checked. @throws what the client prints */
  async check(url: string, ca: string, verifierKey: string, apiKey = "") {
    const caFile = this.#directory.join("ca.pem");
    writeFileSync(caFile, ca);
    const words = [this.#program, url, caFile, verifierKey, ...(apiKey === "" ? [] : [apiKey])];
    const child = Bun.spawn(words, { stdout: "pipe", stderr: "pipe" });
    const [out, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if ((await child.exited) !== 0) throw new Error(complaint);
    return JSON.parse(out) as { size: number; entries: number; tiles: number };
  }
}
