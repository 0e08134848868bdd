/**
 * Compares the cost of screening with that of the alternatives: `bun bench/screening/speed.ts [--json]`.
 *
 * Clean values of 200 bytes (made-up notes, settings and log lines) go through governd's engine, a naive list of
 * expressions and secretlint's recommended rules in the same run. Hostile texts go through the engine, at 256 KiB and
 * 1 MiB, and through the naive list, at 16 KiB. Times are the fastest of an input's rounds.
 */
import { lintSource } from "@secretlint/core";
import { creator as recommended } from "@secretlint/secretlint-rule-preset-recommend";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const VALUES = 400;
const VALUE_BYTES = 200;
const ROUNDS = 15;
const SECRETLINT_ROUNDS = 2;
const MIB = 1 << 20;
const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });

/** The expressions that many teams start with. */
const NAIVE: readonly RegExp[] = [
  /[\w.+-]+@[\w-]+\.[\w.-]+/,
  /\b\d{3}-\d{2}-\d{4}\b/,
  /\b(?:\d[ -]*?){13,16}\b/,
  /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b/,
  /\+?\d{1,3}[-. ]?\(?\d{3}\)?[-. ]?\d{3}[-. ]?\d{4}/,
  /\b(?:\d{1,3}\.){3}\d{1,3}\b/,
  /(?:api[_-]?key|secret|token|password)["']?\s*[:=]\s*["']?[\w-]{8,}/i,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bgh[pousr]_[A-Za-z0-9]{36}\b/,
  /-----BEGIN (?:\w+ )?PRIVATE KEY-----/,
  /\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/,
  /\w+:\/\/[^\s:@]+:[^\s:@]+@\S+/,
];

const SENTENCES: readonly string[] = [
  "The customer asked to move the appointment from Tuesday to Friday and prefers the window seat.",
  'level=info msg="request done" status=200 duration_ms=12 path=/v1/items method=GET attempt=1',
  '{"model":"small","prompt_tokens":812,"completion_tokens":77,"temperature":0.2,"stop":null}',
  "for (const [index, item] of items.entries()) total += item.price * (1 - discounts[index]);",
  "Reservation HXDUBJ was cancelled on 2026-03-04 after the flight HAT271 was delayed twice.",
  "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes the order in which pages are loaded",
  "timeout: 30s\nretries: 3\nregion: eu-central-1\nlog_level: warn\nfeatures: [search, export]",
];

function cleanValues(): string[] {
  return Array.from({ length: VALUES }, (_, i) => {
    const text = Array.from({ length: 4 }, (_, j) => SENTENCES[(i * 3 + j * 2 + i * j) % SENTENCES.length]).join(" ");
    return `${i} ${text}`.slice(0, VALUE_BYTES);
  });
}

const repeated = (piece: string) => (size: number) => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  "one letter": repeated("a"),
  "digits and separators": repeated("12 345-678 90.1 "),
  "nearly addresses": repeated("a.b-c@d."),
  passwords: repeated("password="),
  "token prefixes": repeated("xoxb-sk-ghp_SG."),
  "Base64 text": (size) => Buffer.from("lorem ipsum ".repeat(size)).toString("base64").slice(0, size),
  escapes: repeated("\\u0041%41&#65;"),
  "full-width": repeated("ａ＠１"),
};

const engine = (text: string) => decide(BOTH, { key: "notes/1", value: text, metadata: {} });
const naive = (text: string) => NAIVE.some((expression) => expression.test(text));
const secretlint = (text: string) =>
  lintSource({
    source: { filePath: "value.txt", content: text, contentType: "text" },
    options: {
      config: { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: recommended }] },
      noPhysicFilePath: true,
    },
  });

/** Returns the time of each input's fastest round, microseconds, in ascending order. */
async function times(inputs: readonly string[], rounds: number, run: (text: string) => unknown): Promise<number[]> {
  const fastest = inputs.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++) {
    for (const [index, text] of inputs.entries()) {
      const begin = Bun.nanoseconds();
      const outcome = run(text);
      if (outcome instanceof Promise) await outcome;
      fastest[index] = Math.min(fastest[index] as number, (Bun.nanoseconds() - begin) / 1000);
    }
  }
  return fastest.toSorted((a, b) => a - b);
}

const median = (sorted: readonly number[]) => sorted[sorted.length >> 1] ?? 0;
const rounded = (value: number) => Math.round(value * 100) / 100;

const values = cleanValues();
const blocked = values.filter((value) => !engine(value).allowed).length;
const clean = {
  governd_us: rounded(median(await times(values, ROUNDS, engine))),
  naive_us: rounded(median(await times(values, ROUNDS, naive))),
  secretlint_us: rounded(median(await times(values.slice(0, 40), SECRETLINT_ROUNDS, secretlint))),
};
const hostile: { text: string; governd_ms: number; growth: number; naive_ms: number }[] = [];
for (const [text, make] of Object.entries(HOSTILE)) {
  const quarter = median(await times([make(MIB / 4)], 3, engine)) / 1000;
  const whole = median(await times([make(MIB)], 3, engine)) / 1000;
  // The naive list may take minutes on a whole text.
  const other = median(await times([make(MIB / 64)], 1, naive)) / 1000;
  hostile.push({ text, governd_ms: rounded(whole), growth: rounded(whole / quarter), naive_ms: rounded(other) });
}

if (process.argv.includes("--json")) console.log(JSON.stringify({ clean, blocked, hostile }));
else {
  console.log(`A clean value of ${VALUE_BYTES} bytes, median (${blocked} of ${VALUES} blocked wrongly):`);
  console.table([clean]);
  console.log("Hostile texts: governd 1 MiB, and how much longer than 256 KiB; the naive list 16 KiB.");
  console.table(hostile);
}
