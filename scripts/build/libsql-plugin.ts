/**
 * libSQL's loader chooses the package of its native file at run time, by a name that the bundler cannot see, so a
 * compiled program would lack it. This plugin replaces the loader with a plain `require` of the target's file,
 * which the bundler embeds. Both modules of libSQL have the loader: the synchronous one and the one with promises.
 */
import { createHash } from "node:crypto";
import type { BunPlugin } from "bun";

const MODULE = /[\\/]node_modules[\\/]libsql[\\/](?:index|promise)\.js$/;
const MODULES = 2;

/** The loader: its imports, and its function. */
const IMPORTS =
  /const \{ load, currentTarget \} = require\("@neon-rs\/load"\);\nconst \{ familySync, GLIBC, MUSL \} = require\("detect-libc"\);\n/;
const FUNCTION = /function requireNative\(\) \{\n(?: {2}.*\n)*? {2}return require\(`@libsql\/\$\{target\}`\);\n\}\n/;

/** SHA-256 of the loaders of the pinned version; any other stops the build, and a person must review it. */
const LOADERS_SHA256 = [
  "2bebb7b035be2a4b302230af092b578cdd8ceaa05ce5cfd23652e636bce38b1d",
  "7dc60a85697839b7f2e3524593dd18a8376c52134945d6b2e354de6a76074c00",
];

/** Returns a plugin that embeds this native file. `embedded()` reports whether all loaders were found and replaced. */
export function libsqlPlugin(nativeFile: string): { plugin: BunPlugin; embedded: () => boolean } {
  const embedded = new Set<string>();
  const plugin: BunPlugin = {
    name: "libsql-native",
    setup(build) {
      build.onLoad({ filter: MODULE }, async ({ path }) => {
        const contents = replaceLoader(await Bun.file(path).text(), nativeFile);
        embedded.add(path);
        return { contents, loader: "js" };
      });
    },
  };
  return { plugin, embedded: () => embedded.size === MODULES };
}

/**
 * Returns the text of a module of libSQL with its loader replaced.
 * @throws {Error} when the loader is not one of the pinned version.
 */
export function replaceLoader(source: string, nativeFile: string): string {
  const loader = `${IMPORTS.exec(source)?.[0]}\n${FUNCTION.exec(source)?.[0]}`;
  if (!LOADERS_SHA256.includes(createHash("sha256").update(loader).digest("hex"))) {
    throw new Error(
      "libSQL's loader is not the one that scripts/build/libsql-plugin.ts knows: adapt it to the new one",
    );
  }
  const direct = `function requireNative() {\n  return require(${JSON.stringify(nativeFile)});\n}\n`;
  return source.replace(IMPORTS, "").replace(FUNCTION, () => direct);
}
