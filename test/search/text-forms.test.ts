import { expect, test } from "bun:test";
import fc from "fast-check";
import { FormList } from "../../src/search/index/growable.ts";
import { appendForms } from "../../src/search/words/text-forms.ts";
import { tokenize } from "../../src/search/words/tokenize.ts";
import { NONE, Vocabulary } from "../../src/search/words/vocabulary.ts";

/** The tokens that `appendForms` finds, as spelt in the vocabulary. */
function spellings(text: string, vocabulary: Vocabulary): string[] {
  const forms = new FormList();
  appendForms(text, vocabulary, forms);
  return Array.from(forms.view(), (form) => vocabulary.spelling(form));
}

/** Stretches that lie on both sides of every rule of the tokenizer. */
const stretch = fc.oneof(
  fc.constantFrom("a", "B", "Abc", "ABC", "aBc", "7", "42", "x9", "don't", "O'Brien", "is", "running"),
  fc.constantFrom(" ", ".", ",", "-", "'", "&", "/", "_", ":", "@", "#", "+", "\\", "--", ".,", ",.", "\n"),
  fc.constantFrom(
    "é",
    "Straße",
    "東京",
    "’",
    "ﬁ",
    "\u{1f600}",
    "서버에서",
    "책",
    "\ufe0f",
    "\u200d",
    "\u{1f3fd}",
    "🇰",
    "\u20e3",
    "€",
    "a".repeat(70),
  ),
  fc.string({ maxLength: 6 }),
);
const ascii = fc.array(
  stretch.filter((text) => /^[\0-\x7f]*$/.test(text)),
  { maxLength: 30 },
);
const any = fc.array(stretch, { maxLength: 30 });

test("the forms of a text are its tokens, whatever the text", () => {
  const vocabulary = new Vocabulary(() => NONE);
  const same = (parts: readonly string[]) => {
    const text = parts.join("");
    expect(spellings(text, vocabulary)).toEqual(tokenize(text));
  };
  fc.assert(fc.property(ascii, same), { numRuns: 5000 });
  fc.assert(fc.property(any, same), { numRuns: 1000 });
});

test("forms are numbered in the order in which they come, each once", () => {
  const vocabulary = new Vocabulary(() => NONE);
  const words = Array.from({ length: 5000 }, (_, i) => `w${i.toString(36)}`.replace(/[0-9]/g, "x"));
  const known = [...new Set(words.flatMap((word) => tokenize(word)))];
  spellings(words.join(" "), vocabulary);
  spellings(words.join(" ").toUpperCase(), vocabulary);
  expect(Array.from({ length: vocabulary.formCount }, (_, form) => vocabulary.spelling(form))).toEqual(known);
});
