/** The words that announce a secret (words/secrets.txt). */
import { wordsOf } from "../words/lists.ts";
import secretWords from "../words/secrets.txt" with { type: "text" };

export const SECRET_WORDS = wordsOf(secretWords, [
  "passwords",
  "pins",
  "codes for one use",
  "what digits are counted in",
  "codes on cards",
  "codes of doors",
  "codes that open",
  "what has a code",
  "what opens",
  "what a number is given with",
  "and",
  "directions",
  "what is done with a lock",
  "what has a pin",
  "what has other codes",
  "wallet words",
  "recovery codes",
  "accounts",
  "users",
  "unlocking",
  "typing",
  "resetting",
  "what has a login",
  "locked",
  "combinations",
  "keys",
  "whole parts",
  "services",
]);
