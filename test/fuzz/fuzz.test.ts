/**
 * Every parser reads some hundreds of odd texts from random seeds. A failure names the command that repeats it;
 * `npm run fuzz` runs for as long as wanted.
 */
import { test } from "bun:test";
import { SEED } from "../seed.ts";
import { fuzz, TARGETS } from "./fuzz.ts";

const ROUNDS = 300;
const TIMEOUT_MS = 120_000;

test.each([...TARGETS.keys()])("%s", (name) => fuzz(name, SEED, ROUNDS), TIMEOUT_MS);
