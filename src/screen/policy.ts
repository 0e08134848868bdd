/** The type of a policy, and of the content that it decides about. The list of all policies is in policies.ts. */
import type { JsonObject, JsonValue } from "../json.ts";
import type { Kind, Mode } from "./modes.ts";

/** Content that is about to be stored: an entry, or a text that an event or a checkpoint keeps, as `value`. */
export interface Content {
  key: string;
  value: string;
  metadata: JsonObject;
  /** The name of the value in findings; `value` by default. */
  valueName?: "value" | "label" | "reason";
}

/** What a policy found in some content, and where. Never holds the text itself. */
export interface Finding {
  /** The policy's name. */
  policy: string;
  /** What was recognized: a detector's name, or a word that the policy chose. */
  detector: string;
  /** The tier of personal data: 1 or 2; absent for everything else. */
  tier?: 1 | 2;
  /** `key`, `value`, `label`, `reason`, or a path `metadata.a.b`; names that matched, alone or together, are written `*`. */
  field: string;
  /** Offsets in the text as sent, UTF-16 code units; `end` is exclusive. */
  start: number;
  end: number;
  /** What happens there. */
  mode: Mode;
}

/** The setting of a policy: a JSON value. */
export type AnySetting = JsonValue | object;

/** The JSON type of a policy's member in a config's `policies`. */
export type SettingForm =
  | { type: "boolean" }
  | { type: "integer"; minimum: number; maximum: number }
  | { type: "object" };

/** Returns what a policy refuses under its setting; an empty list allows the content. */
type Rule<Setting> = {
  // Declared as a method, so that policies with settings of different types fit into one list.
  decide(setting: Setting, content: Content): Omit<Finding, "policy" | "mode">[];
}["decide"];

/** A policy that refuses content. Writes and restores apply it. */
export interface ContentPolicy<Setting extends AnySetting> extends PolicyFacts<Setting> {
  /**
   * `detectors` for a policy that refuses what its detectors find (detectors.ts); all such policies share one pass over
   * the content. Otherwise the policy's own function.
   */
  decide: "detectors" | Rule<Setting>;
  /** The kind of its detectors; null for a policy that has none. */
  kind: Kind | null;
  /** What it does not allow, in words: "personal data". */
  forbids: string;
}

/** A policy that decides something else, such as how long data live. */
export interface OtherPolicy<Setting extends AnySetting> extends PolicyFacts<Setting> {
  decide: null;
}

interface PolicyFacts<Setting> {
  /** What a config may set. */
  form: SettingForm;
  /** The same in words, for the API's documentation and for the problem with a wrong setting. */
  description: string;
  /** A setting for the examples in the API's documentation. */
  example: NonNullable<Setting>;
  /** The setting of a config that does not name the policy. It enforces nothing. */
  off: Setting;
  /** Returns the setting that enforces everything that either enforces. */
  stricter(a: Setting, b: Setting): Setting;
  /** How the dashboard shows it. */
  display: {
    label: string;
    hint: string;
    /** Returns a short text for a setting that is not off. */
    badge(setting: Setting): string;
  };
}

export type Policy<Setting extends AnySetting> = ContentPolicy<Setting> | OtherPolicy<Setting>;
