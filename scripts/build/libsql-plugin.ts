/**
 * libSQL's loader picks the package of its native file at run time, by a name that the bundler cannot
 * see, so a compiled program would be left without it. This plugin puts in its place a plain `require`
 * of the target's file, which the bundler embeds.
 */
import type { BunPlugin } from "bun";

/** The loader as it is in the pinned version; anything else stops the build, to be looked at by a person. */
const LOADER =
  /const \{ load, currentTarget \} = require\("@neon-rs\/load"\);\nconst \{ familySync, GLIBC, MUSL \} = require\("detect-libc"\);\n\nfunction requireNative\(\) \{\n(?: {2}.*\n)*? {2}return require\(`@libsql\/\$\{target\}`\);\n\}\n/;

/** Embeds this native file. `embedded()` tells whether the loader was met and replaced. */
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
 * The text of libSQL's entry module with its loader replaced.
 * @throws {Error} when the loader does not look as it did when this was written.
 */
export function replaceLoader(source: string, nativeFile: string): string {
  const replaced = source.replace(
    LOADER,
    () => `function requireNative() {\n  return require(${JSON.stringify(nativeFile)});\n}\n`,
  );
  if (replaced === source || /currentTarget|familySync/.test(replaced)) {
    throw new Error(
      "libSQL's loader is not the one that scripts/build/libsql-plugin.ts knows: adapt it to the new one",
    );
  }
  return replaced;
}
