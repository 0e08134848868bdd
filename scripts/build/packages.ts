/** Which packages a bundle contains. */

/**
 * Returns the directories of the packages that files belong to, relative to the root of the project, in order.
 * @param paths files that a bundler has read, as its metafile names them
 */
export function packagesOf(paths: Iterable<string>): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    const [directory] = /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
    if (directory !== undefined) found.add(directory.slice(directory.indexOf("node_modules/")));
  }
  return [...found].sort();
}
