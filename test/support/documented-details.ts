/** The members that docs/audit-format.md names for the details of each operation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = readFileSync(join(import.meta.dir, "../../docs/audit-format.md"), "utf8");

const namesIn = (text: string): string[] => [...text.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name as string);

function section(title: string): string {
  const begin = PAGE.indexOf(`\n### ${title}\n`);
  if (begin < 0) throw new Error(`docs/audit-format.md has no section ${title}`);
  return PAGE.slice(begin + 1, PAGE.indexOf("\n### ", begin + 1));
}

/** Returns the rows of the tables about details: each an operation and the text beside it. */
const rows = (): [operation: string, text: string][] =>
  ["Details", "Details of the other operations", "The log of the installation"].flatMap((title) =>
    [...section(title).matchAll(/^\| (`[a-z_]+\.[^|]*)\|(.*)$/gm)].flatMap(([, names = "", text = ""]) =>
      [...names.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name]): [string, string] => [name as string, text]),
    ),
  );

/** Members that the details of any operation may have, according to the text. */
const OF_ALL: readonly string[] = [
  ...namesIn(section("Details").split("Each of these has an effect")[1] ?? ""),
  ...namesIn(section("Details of the other operations").split("| operation")[0] ?? ""),
];

/** Operations whose members are in a table or a list of their own. */
const ELSEWHERE: Record<string, string> = {
  "audit.export": PAGE.slice(
    PAGE.indexOf("The details of `audit.export` bind"),
    PAGE.indexOf("A verifier checks that\n\n- the details fit"),
  ),
  "data.erase": section("The log of the installation"),
  "log.restore": section("Epochs"),
};

const byOperation = new Map<string, Set<string>>();
for (const [operation, text] of [...rows(), ...Object.entries(ELSEWHERE)]) {
  const members = byOperation.getOrInsertComputed(operation, () => new Set(OF_ALL));
  for (const name of namesIn(text)) members.add(name);
}

/** The operations that the page documents. */
export const documentedOperations: ReadonlySet<string> = new Set(byOperation.keys());

/** Returns the members of an event's details that the page does not name. */
export const undocumented = (operation: string, details: object | null): string[] =>
  Object.keys(details ?? {}).filter((name) => !byOperation.get(operation)?.has(name));
