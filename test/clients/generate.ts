/** Generates clients from the document at the first argument into the folder at the second, for the daemon at the third. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { plugin } from "bun";
import typescript from "typescript-js";

const [document = "", folder = "", baseUrl = ""] = process.argv.slice(2);

// Two generators print with the compiler's own functions, which the compiler of this repository no longer has.
plugin({
  name: "a compiler with functions",
  setup(build) {
    build.module("typescript", () => ({ exports: { default: typescript, ...typescript }, loader: "object" }));
  },
});

const { default: typesOf, astToString } = await import("openapi-typescript");
await Bun.write(join(folder, "openapi-typescript.ts"), astToString(await typesOf(pathToFileURL(document))));

const { createClient } = await import("@hey-api/openapi-ts");
await createClient({ input: document, output: join(folder, "hey-api"), logs: { level: "silent" } });

const { generate } = await import("orval");
await generate(
  { input: { target: document }, output: { target: join(folder, "orval.ts"), client: "fetch", baseUrl } },
  folder,
);
