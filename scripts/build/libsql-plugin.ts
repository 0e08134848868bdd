/**
 * libSQL's loader chooses the package of its native file at run time, by a name that the bundler cannot see, so a
 * compiled program would lack it. This plugin replaces the loader with a plain `require` of the target's file,
 * which the bundler embeds.
 */
import { createHash } from "node:crypto";
import type { BunPlugin } from "bun";

/** The loader: from its imports to the end of its function. */
const LOADER =
  /const \{ load, currentTarget \} = require\("@neon-rs\/load"\);\nconst \{ familySync, GLIBC, MUSL \} = require\("detect-libc"\);\n\nfunction requireNative\(\) \{\n(?: {2}.*\n)*? {2}return require\(`@libsql\/\$\{target\}`\);\n\}\n/;

/** SHA-256 of the loader of the pinned version; any other stops the build, and a person must review it. */
const LOADER_SHA256 = "2bebb7b035be2a4b302230af092b578cdd8ceaa05ce5cfd23652e636bce38b1d";

/** Embeds this native file. `embedded()` returns whether the loader was found and replaced. */
export function libsqlPlugin(nativeFile: string): { plugin: BunPlugin; embedded: () => boolean } {
  let embedded = false;
  const plugin: BunPlugin = {
    name: "libsql-native",
    setup(build) {
      build.onLoad({ filter: /[\\/]node_modules[\\/]libsql[\\/]index\.js$/ }, async ({ path }) => {
        const contents = replaceLoader(await Bun.file(path).text(), nativeFile);
        embedded = true;
        return { contents, loader: "js" };
      });
    },
  };
  return { plugin, embedded: () => embedded };
}

/**
 * Returns the text of libSQL's entry module with its loader replaced.
 * @throws {Error} when the loader is not the one of the pinned version.
 */
export function replaceLoader(source: string, nativeFile: string): string {
  const [loader = ""] = LOADER.exec(source) ?? [];
  if (createHash("sha256").update(loader).digest("hex") !== LOADER_SHA256) {
    throw new Error(
      "libSQL's loader is not the one that scripts/build/libsql-plugin.ts knows: adapt it to the new one",
    );
  }
  const direct = `function requireNative() {\n  return require(${JSON.stringify(nativeFile)});\n}\n`;
  return source.replace(loader, () => direct);
}
