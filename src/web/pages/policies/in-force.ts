/** Parts of policies, by the paths that the API gives them, in words. */
import { LIMIT_FORMS, LIMITS, type LimitName } from "../../../screen/limits.ts";
import { isMode, type Mode } from "../../../screen/modes.ts";
import { allPolicies, contentPolicies } from "../../../screen/policies.ts";
import type { ExceptionSetting, PatternSetting } from "../../../screen/screening.ts";
import type { JsonObject } from "../../api/types.ts";
import { detectorName, exceptionWords } from "./words.ts";

interface PartInForce {
  name: string;
  /** A further remark on the part; null for none. */
  note: string | null;
  setting: { mode: Mode } | { text: string };
}

/** Returns a part of policies in words. A path that this page does not know is its own name. */
export function partInForce(policies: JsonObject, path: string): PartInForce {
  const value = at(policies, path);
  const setting = isMode(value) ? { mode: value } : { text: inWords(value) };
  const [policy = "", list = "", , detector = ""] = path.split(/\.|\[/);
  const single = allPolicies().find(([name]) => name === path);
  if (single !== undefined) return { name: single[1].display.label, note: null, setting };
  const limit = policy === LIMITS ? LIMIT_FORMS[list as LimitName] : undefined;
  if (limit !== undefined) return { name: limit.words, note: null, setting };
  if (policy === "screening") {
    const kind = contentPolicies().find(([, one]) => one.kind === list)?.[1];
    if (kind !== undefined && detector === "") return { name: `Any ${kind.forbids}`, note: null, setting };
    if (kind !== undefined) return { name: detectorName(detector), note: null, setting };
    if (list === "patterns") return patternInForce(value as PatternSetting);
    if (list === "exceptions") return exceptionInForce(value as ExceptionSetting);
  }
  return { name: path, note: null, setting };
}

function patternInForce({ name, regex, mode, prefixes }: PatternSetting): PartInForce {
  const where = prefixes === undefined ? "" : `, in keys that begin with ${prefixes.join(" or ")}`;
  return { name: `Pattern ${name}`, note: regex + where, setting: { mode } };
}

function exceptionInForce(exception: ExceptionSetting): PartInForce {
  return { name: exceptionWords(exception), note: exception.reason, setting: { text: "left alone" } };
}

const inWords = (value: unknown): string =>
  value === true ? "on" : typeof value === "number" ? String(value) : JSON.stringify(value);

/** Returns the value at a path such as `screening.patterns[0]`. */
function at(policies: JsonObject, path: string): unknown {
  return path
    .split(/\.|\[|\]/)
    .filter((step) => step !== "")
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], policies);
}
