/** LangGraph's own tests of a checkpoint saver, which are written for Vitest. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";

const AsyncFunction = (async () => {}).constructor as unknown as new () => () => Promise<unknown>;

/** As Vitest's: `rejects` calls a function, and there are soft expectations. */
const vitestExpect = Object.assign(
  (value: unknown) => expect(value instanceof AsyncFunction ? value() : value),
  expect,
  { soft: expect },
);

/** Returns the suite. Its files get another `expect` than the one that the runtime gives to every file. */
export function langGraphSuite(): Promise<typeof import("@langchain/langgraph-checkpoint-validation")> {
  Object.assign(globalThis, { vitestExpect });
  Bun.plugin({
    name: "expectations of Vitest",
    setup(build) {
      build.onLoad({ filter: /langgraph-checkpoint-validation[/]dist[/]spec[/].*\.js$/ }, ({ path }) => ({
        contents: `const expect = globalThis.vitestExpect;\n${readFileSync(path, "utf8")}`,
        loader: "js",
      }));
    },
  });
  return import("@langchain/langgraph-checkpoint-validation");
}
