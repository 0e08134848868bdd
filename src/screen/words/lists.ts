/**
 * Parses the word lists and tables of this folder. They are text files with one word or row per line, so that a diff is
 * readable. A line that begins with `#` is a comment, `[heading]` begins a section. The build embeds them in the
 * binary.
 */
import characters from "./characters.txt" with { type: "text" };

export interface Section {
  heading: string;
  lines: string[];
}

/** Returns the lines of a file without comments and empty lines. */
export const linesOf = (text: string): string[] =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

/** @throws {Error} when a line stands before the first heading */
export function sectionsOf(text: string): Section[] {
  const sections: Section[] = [];
  for (const line of linesOf(text)) {
    const heading = /^\[(.+)\]$/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ heading, lines: [] });
    else if (sections.length === 0) throw new Error("a word list begins without a heading");
    else sections.at(-1)?.lines.push(line);
  }
  return sections;
}

/** The lists of a file by their headings. @throws {Error} when the file has other headings than `names` */
export function listsOf<const N extends string>(text: string, names: readonly N[]): Record<N, readonly string[]> {
  const sections = sectionsOf(text);
  const headings = sections.map(({ heading }) => heading);
  if (headings.join() !== names.join()) throw new Error(`a word list has other headings: ${headings.join()}`);
  return Object.fromEntries(sections.map(({ heading, lines }) => [heading, lines])) as Record<N, string[]>;
}

/** The words that a line with alternatives in brackets stands for: `hasł(o|a)` for `hasło` and `hasła`. */
export function spelledOut(line: string): string[] {
  if (!line.includes("(")) return [line];
  const [, before = line, choice, after = ""] = /^([^(]*)\(([^)]*)\)(.*)$/.exec(line) ?? [];
  if (choice === undefined) return [line];
  return choice.split("|").flatMap((one) => spelledOut(before + one + after));
}

/** Like {@link listsOf}, with the alternatives of each line spelled out. */
export function wordsOf<const N extends string>(text: string, names: readonly N[]): Record<N, readonly string[]> {
  const lists = listsOf(text, names);
  const spelled = names.map((name) => [name, [...new Set(lists[name].flatMap(spelledOut))]]);
  return Object.fromEntries(spelled) as Record<N, string[]>;
}

/** A pattern for any of these words, the longest first. */
export const anyOf = (words: readonly string[]): string =>
  `(?:${words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => RegExp.escape(word))
    .join("|")})`;

/** What the characters of a section of characters.txt are read as. */
export function readings(section: "look-alikes" | "signs" | "entities"): ReadonlyMap<string, string> {
  const plain = (word: string) =>
    /^u\+[0-9a-f]+$/.test(word) ? String.fromCodePoint(Number.parseInt(word.slice(2), 16)) : word;
  const lists = listsOf(characters, ["look-alikes", "signs", "entities"]);
  return new Map(
    lists[section].map((line) => {
      const [from = "", to = ""] = line.split(" ").map(plain);
      return [from, to];
    }),
  );
}

/** The columns of a row of a table, which two spaces or more separate. */
export const columnsOf = (row: string): string[] => row.split(/ {2,}/);

/** The sticky pattern that a table writes as `/source/` or `/source/i`. */
export function stickyOf(written: string | undefined): RegExp {
  const [, source, flags] = /^\/(.+)\/([iu]*)$/.exec(written ?? "") ?? [];
  if (source === undefined) throw new Error(`not a pattern: ${written}`);
  return new RegExp(source, `${flags}y`);
}

/** Returns the source of a pattern whose repetitions end: those of the tables are written without a limit. */
export const bounded = (source: string, longest: number): string =>
  source.replace(
    /(\\[sSwd]|\\p\{L\}|\[(?:\\.|[^\]\\])+\])(?:([+*])|\{(\d+),\})/g,
    (_, unit, sign, fewest = sign === "+" ? 1 : 0) => `${unit}{${fewest},${longest}}`,
  );
