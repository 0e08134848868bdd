/**
 * Every parser reads some hundreds of odd texts from random seeds. A failure names the command that repeats it;
 * `npm run fuzz` runs for as long as wanted.
 */
import { test } from "bun:test";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { fuzz, TARGETS } from "./fuzz.ts";

const ROUNDS = 300;

test.each([...TARGETS.keys()])("%s", (name) => fuzz(name, SEED, ROUNDS), PROCESS_TEST_MS);
