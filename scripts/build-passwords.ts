/**
 * Makes `src/ops/accounts/common-passwords.txt`: `bun scripts/build-passwords.ts LIST...`. Each list has one
 * password a line, the most common first; NOTICE says which ones were used. Of the first 10,000 passwords of each list,
 * it takes those with at least four characters, since longer passwords are made of them; of the others, those with at
 * least the minimum length of a password.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { LISTED_BYTES, listNumber } from "../src/ops/accounts/common-passwords.ts";
import { PASSWORD_MIN_CHARACTERS } from "../src/ops/accounts/passwords.ts";

const SHORT_ONES = 10_000;
const SHORTEST = 4;

const numbers = new Set<number>();
for (const path of process.argv.slice(2)) {
  for (const [rank, line] of readFileSync(path, "utf8").split(/\r?\n/).entries()) {
    const word = line.normalize("NFKC").toLowerCase();
    if ([...word].length >= (rank < SHORT_ONES ? SHORTEST : PASSWORD_MIN_CHARACTERS)) numbers.add(listNumber(word));
  }
}
const table = Buffer.alloc(numbers.size * LISTED_BYTES);
for (const [at, number] of [...numbers].sort((a, b) => a - b).entries()) {
  table.writeUIntBE(number, at * LISTED_BYTES, LISTED_BYTES);
}
writeFileSync("src/ops/accounts/common-passwords.txt", `${table.toString("base64")}\n`);
console.log(`${numbers.size} passwords`);
