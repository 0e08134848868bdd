/** The words for digits, for numbers that are said digit by digit. */
import digitWords from "./digits.txt" with { type: "text" };
import { wordsOf } from "./lists.ts";

const lists = wordsOf(digitWords, ["digits", "other digits"]);

/** Words that mean nothing else. */
export const CLEAR_DIGITS: readonly string[] = lists.digits;
export const ALL_DIGITS: readonly string[] = [...lists.digits, ...lists["other digits"]];
