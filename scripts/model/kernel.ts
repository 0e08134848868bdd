import { readFileSync } from "node:fs";
import { join } from "node:path";
import wabt from "wabt";

const SOURCE = join(import.meta.dir, "../../src/search/kernel.wat");

/** Returns the WebAssembly module of the inner loops of vector search. @throws when its text is not valid */
export async function assembleKernel(): Promise<Uint8Array> {
  const { parseWat } = await wabt();
  const module = parseWat(SOURCE, readFileSync(SOURCE, "utf8"), { simd: true });
  module.validate();
  return module.toBinary({}).buffer;
}
