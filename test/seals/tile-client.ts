/** A stock client of transparency logs, in Go: see tile-client.go. It needs Debian's golang-go and golang-golang-x-mod-dev. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TemporaryDirectory } from "../temporary.ts";

const PACKAGES = "/usr/share/gocode";

/** Whether the client can be built here. */
export const HAS_TILE_CLIENT = Bun.which("go") !== null && existsSync(join(PACKAGES, "src/golang.org/x/mod/sumdb"));

export class TileClient {
  readonly #directory: TemporaryDirectory;
  readonly #program: string;

  constructor(directory: TemporaryDirectory) {
    this.#directory = directory;
    this.#program = directory.join("tile-client");
    const words = ["go", "build", "-o", this.#program, join(import.meta.dir, "tile-client.go")];
    const env = { ...process.env, GO111MODULE: "off", GOPATH: PACKAGES, GOFLAGS: "", GOCACHE: directory.join("go") };
    const { exitCode, stderr } = Bun.spawnSync(words, { env });
    if (exitCode !== 0) throw new Error(`the client could not be built: ${stderr}`);
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
