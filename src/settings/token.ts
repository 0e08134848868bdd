/** A kind of setting whose value is a secret text, which is never shown. */
import { optional, resolvePath, written } from "./values.ts";

/** A token: the path of its file, which begins with `/` or `.`, or its text, which is never shown. */
export const token = optional(
  written(
    "path|token",
    "must be a path that begins with / or ., or a token without spaces",
    (text, base) => (isTokenPath(text) ? resolvePath(text, base) : /\s/.test(text) ? undefined : text),
    (value) => (isTokenPath(value) ? value : "********"),
  ),
);

/** Whether the value of a {@link token} names a file. */
export const isTokenPath = (value: string): boolean => /^[/.]/.test(value);
