/** Programs in Go that tests run. They need Debian's golang-go and golang-golang-x-mod-dev. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = "/usr/share/gocode";

/** Whether Go programs can be built here. */
export const HAS_GO = Bun.which("go") !== null && existsSync(join(PACKAGES, "src/golang.org/x/mod/sumdb"));

/** Builds a program from some files. Keeps the compiler's cache. @throws {Error} with what the compiler prints */
export function buildGo(files: readonly string[], program: string): void {
  const cache = join(import.meta.dir, "../.cache/go");
  const env = { ...process.env, GO111MODULE: "off", GOPATH: PACKAGES, GOFLAGS: "", GOCACHE: cache };
  const { exitCode, stderr } = Bun.spawnSync(["go", "build", "-o", program, ...files], { env });
  if (exitCode !== 0) throw new Error(`${files} could not be built: ${stderr}`);
}
