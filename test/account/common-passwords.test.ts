import { describe, expect, test } from "bun:test";
import { isCommon, refuseCommonPassword } from "../../src/ops/accounts/common-passwords.ts";
import { Problem } from "../../src/problem.ts";
import { Seeded } from "../seeded.ts";

const EMAIL = "ada.lovelace@engines.example";

describe.each([
  ["of the lists", ["1qaz2wsx3edc", "q1w2e3r4t5y6", "qwertyqwerty", "123456654321", "motherfucker"]],
  ["whatever the case", ["QWERTYqwerty", "1QAZ2wsx3edc", "QwErTyUiOp[]"]],
  [
    "made longer with digits and signs",
    ["password1234", "Password2026!", "!!sunshine99", "dragon123456", "iloveyou!!!!"],
  ],
  ["made longer by repetition", ["passwordpassword", "dragondragon", "monkeymonkeym", "Sunshine1Sunshine1"]],
  ["of few characters", ["aaaaaaaaaaaa", "abababababab", "123412341234", "xyzxyzxyzxyzx", "            "]],
  ["that are rows", ["abcdefghijkl", "lkjihgfedcba", "123456789012", "0987654321098", "ABCDEFGHIJKLMNOP"]],
  [
    "that the address suggests",
    [EMAIL, EMAIL.toUpperCase(), "ada.lovelace", "Ada.Lovelace1815", "engines.example", "enginesengines"],
  ],
  ["that the product suggests", ["governdgovernd", "Governd12345", "governd!2026"]],
  ["in other forms of the same characters", ["ｐａｓｓｗｏｒｄ１２３４", "ＡＡＡＡＡＡＡＡＡＡＡＡ"]],
])("common passwords %s", (_, passwords) => {
  test.each(passwords)("%s", (password) => {
    let refused: unknown;
    try {
      refuseCommonPassword(password, EMAIL, "password");
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(Problem);
    const { message, code, options } = refused as Problem;
    expect([code, options.param]).toEqual(["invalid_request", "password"]);
    expect(message.toLowerCase()).not.toContain(password.toLowerCase());
  });
});

const CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&*+-.:=?@_";
const WORDS = "amber basin candle delta ember fable glacier harbor island jungle kettle lantern meadow nectar".split(
  " ",
);

test("passwords that nobody else has are accepted", () => {
  const random = new Seeded(20_261_123);
  const some = <T>(from: ArrayLike<T>, count: number) =>
    Array.from({ length: count }, () => from[random.below(from.length)] as T);
  const kinds: (() => string)[] = [
    () => some(CHARACTERS, 12).join(""),
    () => some("abcdefghijklmnopqrstuvwxyz", 14).join(""),
    () => some("0123456789abcdef", 32).join(""),
    () => some("0123456789", 16).join(""),
    () => [...new Set(some(WORDS, 4))].join(" "),
    () => `${[...new Set(some(WORDS, 5))].join("-")}${some("0123456789", 2).join("")}`,
  ];
  const refused = kinds.flatMap((make, kind) =>
    Array.from({ length: 2_000 }, make)
      .filter((password) => password.length >= 12 && isCommon(password, [EMAIL]))
      .map(() => kind),
  );
  expect(refused).toEqual([]);
  expect(isCommon("correct horse battery staple", [EMAIL])).toBe(false);
});
