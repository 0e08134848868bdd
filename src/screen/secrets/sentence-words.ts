/** The words of sentences about secrets (words/sentences.txt). */
import { wordsOf } from "../words/lists.ts";
import sentenceWords from "../words/sentences.txt" with { type: "text" };

export const SENTENCE_WORDS = wordsOf(sentenceWords, [
  "copulas",
  "joints",
  "attached joints",
  "joints in front",
  "rules",
  "keys of networks",
  "beginnings of opening",
  "not in a password",
]);
