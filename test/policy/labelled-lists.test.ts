/** Of a list behind a label, every item is found, whatever the syntax of the list, and stored by none of the modes. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { decide, findingsOf } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { effort } from "../effort.ts";
import { SEED } from "../seed.ts";

const REDACT = policiesOf({ policies: { screening: { pii: { mode: "redact" }, secrets: { mode: "redact" } } } });
const storedOf = (value: string): string => {
  const decision = decide(REDACT, { key: "notes/1", value, metadata: {} });
  return decision.allowed ? (decision.found?.redacted?.value ?? value) : "";
};

const digits = (count: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: count, maxLength: count }).map((all) => all.join(""));
const letters = (alphabet: string, count: number) =>
  fc.array(fc.constantFrom(...alphabet), { minLength: count, maxLength: count }).map((all) => all.join(""));
const code = fc
  .tuple(
    digits(4).filter((one) => !/^(?:19|20)/.test(one)),
    digits(4),
  )
  .map(([one, two]) => `${one}-${two}`);
// Without x: `xxx` stands for what was left out.
const mixed = fc
  .tuple(letters("bcdfghjkmnpqrtvwz", 5), digits(3))
  .map(([said, number]) => `${said.slice(0, 2)}${number}${said.slice(2)}`);
const password = fc
  .tuple(
    fc.constantFrom("Rotschenkel", "Zimtwald", "Lanternfish", "Heidekraut"),
    digits(2),
    fc.constantFrom("!", "_", "-"),
  )
  .map(([word, number, sign]) => `${word}${sign}${number}`);
const isPlain = (number: string) => new Set(number).size < 3;
const pin = digits(4).filter((number) => !/^(?:19|20)/.test(number) && !isPlain(number));
const account = digits(10).filter((number) => !isPlain(number));

/** Labels in several languages, and what they announce. */
const LABELS: readonly (readonly [label: string, item: fc.Arbitrary<string>])[] = [
  ["recovery codes", code],
  ["Backup codes", mixed],
  ["backup_codes", code],
  ["Wiederherstellungscodes", code],
  ["códigos de recuperación", code],
  ["passwords", password],
  ["Passwörter", password],
  ["contraseñas", password],
  ["hasła", password],
  ["PINs", pin],
  ["card PINs", pin],
  ["account numbers", account],
  ["Kontonummern", account],
];

const each = (items: readonly string[], line: (item: string, index: number) => string): string =>
  items.map(line).join("");

/** The ways to write a list below or behind a label. */
const SYNTAXES: Readonly<Record<string, (label: string, items: readonly string[]) => string>> = {
  commas: (label, items) => `${label}: ${items.join(", ")}`,
  semicolons: (label, items) => `Hi. ${label}: ${items.join("; ")}.`,
  and: (label, items) => `${label}: ${items.slice(0, -1).join(", ")} and ${items.at(-1)}. Thank you.`,
  lines: (label, items) => `${label}:\n${items.join("\n")}\n\nSee you`,
  "lines of Windows": (label, items) => `${label}:\r\n${items.join("\r\n")}\r\n`,
  "lines with empty ones between": (label, items) => `${label}:\n\n${items.join("\n\n")}\n\nSee you`,
  "numbers with a colon": (label, items) => `${label}:\n${each(items, (item, at) => `${at + 1}: ${item}\n`)}`,
  "numbers with a hash": (label, items) => `${label}:\n${each(items, (item, at) => `#${at + 1} ${item}\n`)}`,
  "crossed out": (label, items) => `${label}:\n${each(items, (item) => `- ~~${item}~~\n`)}`,
  bullets: (label, items) => `${label}:\n${each(items, (item) => `- ${item}\n`)}`,
  "bullets of print": (label, items) => `${label}:\n${each(items, (item) => `• ${item}\n`)}`,
  "a heading": (label, items) => `## ${label}\n\n${each(items, (item) => `* ${item}\n`)}`,
  numbers: (label, items) => `${label}:\n${each(items, (item, at) => `${at + 1}. ${item}\n`)}`,
  boxes: (label, items) => `${label}:\n${each(items, (item) => `- [ ] ${item}\n`)}`,
  "code in Markdown": (label, items) => `${label}:\n\n\`\`\`\n${items.join("\n")}\n\`\`\`\n`,
  "a block of YAML": (label, items) => `${label}:\n${each(items, (item) => `  - ${item}\n`)}kept: yes\n`,
  "quotes in YAML": (label, items) => `${label}:\n${each(items, (item) => `- "${item}"\n`)}kept: yes\n`,
  "a flow list": (label, items) => `${label}: [${items.join(", ")}]\nkept: yes\n`,
  TOML: (label, items) => `${label} = [\n${each(items, (item) => `  "${item}",\n`)}]\nkept = 1\n`,
  JSON: (label, items) => JSON.stringify({ [label]: items, kept: "yes" }),
  "nested JSON": (label, items) => JSON.stringify({ user: { [label]: items.map((item) => [item]) } }, null, 2),
  "objects in JSON": (label, items) => JSON.stringify({ [label]: items.map((value) => ({ value, left: true })) }),
  "objects in YAML": (label, items) =>
    `${label}:\n${each(items, (item) => `  - value: "${item}"\n    left: yes\n`)}kept: yes\n`,
  remarks: (label, items) => `${label}: ${items.join(" (new), ")} (old)`,
  "two columns": (label, items) =>
    `${label}:\n\n${each(items, (item, at) => `  ${at + 1}. ${item}  ${at + 51}. ${item}\n`)}`,
  "a variable": (label, items) => `${label.replaceAll(" ", "_")}=${items.join(",")}\nKEPT=1\n`,
  "a text in JSON": (label, items) => JSON.stringify({ note: `${label}:\n${items.join("\n")}`, kept: [1, "yes"] }),
  "cells of several": (label, items) =>
    `user,${label}\nana,"${items.join(", ")}"\nben,"${items.join("; ")}"\nkim,${items.join(" ")}\n`,
  "a table": (label, items) => `| ${label} | note |\n|---|---|\n${each(items, (item) => `| ${item} | x |\n`)}`,
};

test.each(Object.entries(SYNTAXES))("a list in the form of %s is replaced as a whole", (_, write) => {
  const lists = fc
    .constantFrom(...LABELS)
    .chain(([label, item]) =>
      fc.record({ label: fc.constant(label), items: fc.uniqueArray(item, { minLength: 2, maxLength: 12 }) }),
    );
  fc.assert(
    fc.property(lists, ({ label, items }) => {
      const value = write(label, items);
      const stored = storedOf(value);
      expect(
        items.filter((item) => stored.includes(item)),
        `${JSON.stringify(value)} → ${JSON.stringify(stored)}`,
      ).toEqual([]);
    }),
    { numRuns: effort({ usual: 40, long: 2_000 }), seed: SEED },
  );
});

const PASSWORDS = ["Rotschenkel-31", "Heidekraut_9", "Zimtwald!44", "Lanternfish-8"] as const;
const [A, B, C, D] = PASSWORDS;

test.each([
  `passwords\n\n${PASSWORDS.join("\n")}\n`,
  `Passwörter\n=====\n${PASSWORDS.join("\n")}\n`,
  `Passwörter: ${PASSWORDS.join(" ")}`,
  `Die Passwörter sind ${A}, ${B}, ${C} und ${D}.`,
  `Les mots de passe sont ${A}, ${B}, ${C} et ${D}.`,
  `Las contraseñas son ${A}, ${B}, ${C} y ${D}.`,
  `Le password sono ${A}, ${B}, ${C} e ${D}.`,
  `De wachtwoorden zijn ${A}, ${B}, ${C} en ${D}.`,
  `Hasła są ${A}, ${B}, ${C} i ${D}.`,
  `mots de passe : ${PASSWORDS.join(" ")}`,
  `passwords: ana=${A}, ben=${B}, kim=${C}, leo=${D}`,
  `PASSWORDS='{"ana":"${A}","ben":"${B}","kim":"${C}","leo":"${D}"}'\nKEPT=1\n`,
  JSON.stringify({ user: "mika", passwords: { total: 4, items: PASSWORDS } }),
  `<h3>Passwords</h3>\n<ul>\n${each(PASSWORDS, (item) => `<li>${item}</li>\n`)}</ul>`,
])("passwords are replaced as a whole in %j", (value) => {
  const stored = storedOf(value);
  expect(stored).toContain("[redacted:generic_credential]");
  expect(PASSWORDS.filter((item) => stored.includes(item))).toEqual([]);
});

test.each(["account numbers: ", "ACCOUNT_NUMBERS=", "Kontonummern: "])("%s have names before them", (label) => {
  const numbers = ["4930281756", "1038475629", "8827364510", "5561029384"];
  const stored = storedOf(
    label + numbers.map((number, at) => `${["ana", "ben", "kim", "leo"][at]}=${number}`).join(","),
  );
  expect(numbers.filter((item) => stored.includes(item))).toEqual([]);
  expect(stored).toMatch(/ana=.*ben=.*kim=.*leo=/);
});

test.each([
  (codes: readonly string[]) => `recovery codes\n\n${codes.join("\n")}\n`,
  (codes: readonly string[]) => `# Backup codes\n${codes.join("\n")}\n`,
  (codes: readonly string[]) => JSON.stringify({ recovery_codes: codes.join("\n"), kept: 1 }),
])("codes in lines are replaced when the first two of them are one match: %s", (write) => {
  const codes = ["4821-9937", "7719-0042", "3390-5561", "8812-7764"];
  const stored = storedOf(write(codes));
  expect(stored).toContain("[redacted:generic_credential]");
  expect(codes.filter((item) => stored.includes(item))).toEqual([]);
});

test.each([" ", "\t", "  ", "\n"])("codes of eight digits stay in no place when %j is between them", (between) => {
  const codes = ["48219937", "77190042", "33905561", "88127764", "59013378"];
  const stored = storedOf(JSON.stringify({ "backup codes": codes.join(between), kept: 1 }));
  expect(stored).toContain("[redacted:generic_credential]");
  expect(codes.filter((item) => stored.includes(item))).toEqual([]);
});

test("numbers are replaced in the lines of HTML", () => {
  const stored = storedOf("<p>Kontonummern:<br>4930281756<br>1038475629<br/>8827364510<br />5561029384</p>");
  const mark = "[redacted:bank_account]";
  expect(stored).toBe(`<p>Kontonummern:<br>${mark}<br>${mark}<br/>${mark}<br />${mark}</p>`);
});

test("of objects in a list, only the values are items", () => {
  const codes = [
    { code: "4821-9937", used_at: "2027-11-02", note: "kitchen7" },
    { code: "7719-0042", used_at: null, note: "garage8" },
  ];
  const code = "[redacted:generic_credential]";
  const stored = codes.map((one) => ({ ...one, code }));
  expect(JSON.parse(storedOf(JSON.stringify({ recovery_codes: codes })))).toEqual({ recovery_codes: stored });
});

test("members with names of their own are all items", () => {
  const stored = storedOf('{"passwords":{"1":"Rotschenkel-31","code":"Zimtwald!44","cellar":"Heidekraut_9"}}');
  const mark = "[redacted:generic_credential]";
  expect(JSON.parse(stored)).toEqual({ passwords: { 1: mark, code: mark, cellar: mark } });
});

test("an array in metadata is replaced as a whole", () => {
  const arrays = fc
    .constantFrom(...LABELS)
    .chain(([label, item]) =>
      fc.record({ label: fc.constant(label), items: fc.uniqueArray(item, { minLength: 2, maxLength: 8 }) }),
    );
  fc.assert(
    fc.property(arrays, ({ label, items }) => {
      const metadata = { user: { [label]: items, kept: ["a", 1] } };
      const decision = decide(REDACT, { key: "notes/1", value: "x", metadata });
      // Groups of digits may together be a number of another kind, which cannot be replaced.
      if (!decision.allowed) return;
      const { user } = decision.found?.redacted?.metadata ?? metadata;
      const marks = items.map(() => expect.stringMatching(/^\[redacted:[a-z_]+\]$/));
      expect(user, JSON.stringify(metadata)).toEqual({ [label]: marks, kept: ["a", 1] });
    }),
    { numRuns: effort({ usual: 100, long: 5_000 }), seed: SEED },
  );
});

test("a long list is replaced as a whole, or refused", () => {
  for (const count of [100, 1_000, 5_000]) {
    const items = Array.from({ length: count }, (_, at) => `${1000 + at}-${9999 - at}`);
    const stored = storedOf(`recovery codes:\n${items.map((item) => `- ${item}`).join("\n")}\n`);
    expect(items.filter((item) => stored.includes(item))).toEqual([]);
  }
});

test.each([
  [
    "The password is Rotschenkel-31, please change it soon.",
    "The password is [redacted:generic_credential], please change it soon.",
  ],
  ["password: Rotschenkel-31, user: mika", "password: [redacted:generic_credential], user: mika"],
  ["PIN: 4711, valid for 12 days", "PIN: [redacted:generic_credential], valid for 12 days"],
  [
    "Passwords:\n- Rotschenkel-31\n- Heidekraut_9\n\nAsk Mika for the others.",
    "Passwords:\n- [redacted:generic_credential]\n- [redacted:generic_credential]\n\nAsk Mika for the others.",
  ],
  ['{"password":"Rotschenkel-31","kept":["a","b"]}', '{"password":"[redacted:generic_credential]","kept":["a","b"]}'],
  ["password=Rotschenkel-31\nuser=mika\nhost=db01", "password=[redacted:generic_credential]\nuser=mika\nhost=db01"],
  [
    "passwords:\n\nRotschenkel-31\n\nKind regards\n\nAna 7\n",
    "passwords:\n\n[redacted:generic_credential]\n\nKind regards\n\nAna 7\n",
  ],
  ["passwords: ana=Rotschenkel-31, port=5432", "passwords: ana=[redacted:generic_credential], port=5432"],
])("what is beside a secret is no item: %s", (value, stored) => {
  expect(storedOf(value)).toBe(stored);
});

test.each([
  "PIN:\n1. Insert the card\n2. Type the number\n",
  "Passwords:\n- at least 12 characters\n- one digit\n",
  'pins: ["GPIO4", "GPIO17"]',
  '{"backup_codes": []}',
  "backup codes:\n- print them\n- keep them in the safe\n",
])("a list that holds no secrets is harmless: %s", (value) => {
  const both = policiesOf({ policies: { block_pii: true, block_secrets: true } });
  expect(findingsOf(decide(both, { key: "notes/1", value, metadata: {} }))).toEqual([]);
});
