/** Keys as a tree: their names below a prefix, and the way back up. */

/** Returns the part of a key that is shown below a prefix: the rest, or the whole key when it is the prefix itself. */
export const nameBelow = (prefix: string, key: string): string => (key === prefix ? key : key.slice(prefix.length));

/** Reports whether keys without folders by `/` have parts that `:` separates. A key may end with a separator. */
export const hasColons = (keys: readonly string[], prefix: string): boolean =>
  keys.some((key) => key.slice(prefix.length, -1).includes(":"));

/** Returns the steps to a prefix: `a/b/` has `a/` and `a/b/`. */
export const steps = (prefix: string): { prefix: string; name: string }[] =>
  [...prefix.matchAll(/[^/:]*[/:]|[^/:]+$/g)].map(({ 0: name, index }) => ({
    prefix: prefix.slice(0, index + name.length),
    name,
  }));
