/**
 * What happens to a text under the policies of a workspace and of a config. Written from the API's documentation, not
 * from the program, for a few detectors. The caller states where they match.
 */

/** Weakest first. */
export const MODES = ["off", "audit", "redact", "block"] as const;
export type Mode = (typeof MODES)[number];
export const stronger = (a: Mode, b: Mode): Mode => MODES[Math.max(MODES.indexOf(a), MODES.indexOf(b))] as Mode;

interface Pattern {
  name: string;
  regex: string;
  ignore_case?: boolean;
  mode: Mode;
  prefixes?: string[];
}

export interface Exception {
  detector: string;
  equals?: string;
  ends_with?: string;
  prefixes?: string[];
  reason: string;
  expires_at?: string;
}

interface KindModes {
  mode?: Mode;
  detectors?: Record<string, Mode>;
}

export interface Policies {
  block_pii?: boolean;
  block_secrets?: boolean;
  retention_days?: number;
  screening?: { pii?: KindModes; secrets?: KindModes; patterns?: Pattern[]; exceptions?: Exception[] };
  limits?: { writes_per_minute?: number; value_bytes?: number; entries?: number };
}

/** The policies of a workspace, as `PUT /v1/policies` takes them. */
export interface WorkspacePolicies {
  policies?: Policies;
  require_config?: boolean;
  exceptions_from_agents?: boolean;
}

/** A text that a detector or pattern matches. */
export interface Match {
  policy: "block_pii" | "block_secrets" | "patterns";
  detector: string;
  /** The matched text; null when it is encoded or in parts, which no exception equals. */
  text: string | null;
  field: string;
  start: number;
  end: number;
  /** It cannot be replaced. */
  isFixed: boolean;
}

/** The policies in force, and the time. */
export interface Force {
  floor: WorkspacePolicies;
  /** Null for an agent without a config. */
  config: Policies | null;
  nowMs: number;
}

const applies = (prefixes: string[] | undefined, key: string | null): boolean =>
  prefixes === undefined || prefixes.some((prefix) => key?.startsWith(prefix));

/** Returns the mode that some policies demand for a match, before exceptions. Only patterns depend on `key`. */
export function demanded(policies: Policies, { policy, detector, text }: Match, key: string | null): Mode {
  const { screening = {} } = policies;
  if (policy === "patterns") {
    const matching = (screening.patterns ?? []).filter(
      ({ name, regex, ignore_case: any, prefixes }) =>
        name === detector && applies(prefixes, key) && new RegExp(regex, any ? "i" : "").test(text ?? ""),
    );
    return matching.map(({ mode }) => mode).reduce(stronger, "off");
  }
  if (policies[policy] === true) return "block";
  const kind = (policy === "block_pii" ? screening.pii : screening.secrets) ?? {};
  return kind.detectors?.[detector] ?? kind.mode ?? "off";
}

/** Reports whether an exception lets a match pass. A label has no key. */
const excepts = (one: Exception, { detector, text }: Match, key: string | null, nowMs: number): boolean =>
  one.detector === detector &&
  text !== null &&
  (one.equals === undefined ? text.endsWith(one.ends_with as string) : text === one.equals) &&
  applies(one.prefixes, key) &&
  (one.expires_at === undefined || nowMs < Date.parse(one.expires_at));

/** Returns the mode of a match under the floor and the config together, and whether an exception weakened it. */
export function modeOf({ floor, config, nowMs }: Force, match: Match, key: string | null) {
  const ofWorkspacePolicies = floor.policies ?? {};
  const ofConfig = config ?? {};
  const own = ofConfig.screening?.exceptions ?? [];
  const sides = [
    {
      policies: ofWorkspacePolicies,
      exceptions: [...(ofWorkspacePolicies.screening?.exceptions ?? []), ...(floor.exceptions_from_agents ? own : [])],
    },
    { policies: ofConfig, exceptions: own },
  ];
  const before = sides.map(({ policies }) => demanded(policies, match, key)).reduce(stronger);
  const mode = sides
    .map(({ policies, exceptions }) =>
      exceptions.some((one) => excepts(one, match, key, nowMs)) ? "off" : demanded(policies, match, key),
    )
    .reduce(stronger);
  return { mode, isExcepted: mode !== before };
}

export interface Finding {
  policy: string;
  detector: string;
  field: string;
  start: number;
  end: number;
  mode: Mode;
}

/** What happens to a text. */
export interface Verdict {
  allowed: boolean;
  /** The first policy that refuses. */
  blockedBy?: string;
  /** Whether time alone resolves the refusal. */
  isLater: boolean;
  findings: Finding[];
  /** The matches that are replaced, if it is stored. */
  replaced: Match[];
  excepted: Record<string, number>;
}

/** Returns the smaller of both limits; infinity if there is none. */
export function limitOf({ floor, config }: Force, name: "writes_per_minute" | "value_bytes" | "entries"): number {
  const most = [floor.policies?.limits?.[name], config?.limits?.[name]].map((one) => one ?? Number.POSITIVE_INFINITY);
  return Math.min(...most);
}

/** What is to be stored, and what the agent has. */
export interface Wish {
  /** Null for a label or a reason. */
  key: string | null;
  matches: Match[];
  /** The size of the value; 0 where no limit of it applies. */
  bytes: number;
  /** The entries that there would be, and the writes of the last minute with this one; 0 where they do not count. */
  entries: number;
  writes: number;
  /** Whether it can be stored with other text. */
  isReplaceable: boolean;
  needsConfig: boolean;
}

/** Returns what happens to a wish. */
export function verdictOf(force: Force, wish: Wish): Verdict {
  const judged = wish.matches.map((match) => ({ match, ...modeOf(force, match, wish.key) }));
  const findings = judged.flatMap(({ match: { policy, detector, field, start, end }, mode }): Finding[] =>
    mode === "off" ? [] : [{ policy, detector, field, start, end, mode }],
  );
  const excepted: Record<string, number> = {};
  for (const { match, isExcepted } of judged)
    if (isExcepted) excepted[match.detector] = (excepted[match.detector] ?? 0) + 1;
  const isTooMuch = wish.bytes > limitOf(force, "value_bytes") || wish.entries > limitOf(force, "entries");
  const isTooSoon = wish.writes > limitOf(force, "writes_per_minute");
  const refusing = judged
    .filter(({ match, mode }) => mode === "block" || (mode === "redact" && (match.isFixed || !wish.isReplaceable)))
    .map(({ match }): string => match.policy);
  if (isTooMuch || isTooSoon) refusing.push("limits");
  if (wish.needsConfig && force.floor.require_config === true && force.config === null) refusing.push("require_config");
  const order = ["limits", "require_config", "block_secrets", "block_pii", "patterns"];
  const blockedBy = order.find((policy) => refusing.includes(policy));
  return {
    allowed: blockedBy === undefined,
    ...(blockedBy !== undefined && { blockedBy: `policy:${blockedBy}` }),
    isLater: isTooSoon && !isTooMuch,
    findings,
    replaced: judged.filter(({ mode }) => mode === "redact").map(({ match }) => match),
    excepted,
  };
}

/** What floor and config together demand of one member, and which of them demands it: the floor if both do. */
export interface Part {
  value: unknown;
  from: "floor" | "config";
}

/** Returns the policies in force of an agent, apart from exceptions and patterns: each member by its path. */
export function partsInForce({ floor, config }: Force): Map<string, Part> {
  const [ofWorkspacePolicies, ofConfig] = [floor.policies ?? {}, config ?? {}];
  const parts = new Map<string, Part>();
  const add = <T>(path: string, of: (policies: Policies) => T | undefined, stricter: (a: T, b: T) => T) => {
    const [a, b] = [of(ofWorkspacePolicies), of(ofConfig)];
    if (a === undefined && b === undefined) return;
    const value = a === undefined || b === undefined ? (a ?? b) : stricter(a, b);
    parts.set(path, { value, from: value === a ? "floor" : "config" });
  };
  const smaller = (a: number, b: number) => Math.min(a, b);
  for (const name of ["block_pii", "block_secrets"] as const)
    add(
      name,
      (one) => one[name] || undefined,
      (a) => a,
    );
  add("retention_days", (one) => one.retention_days, smaller);
  for (const name of ["writes_per_minute", "value_bytes", "entries"] as const)
    add(`limits.${name}`, (one) => one.limits?.[name], smaller);
  for (const kind of ["pii", "secrets"] as const) {
    const modesOf = ({ screening }: Policies): KindModes => screening?.[kind] ?? {};
    const path = `screening.${kind}`;
    add(`${path}.mode`, (one) => onlyOn(modesOf(one).mode), stronger);
    const names = [ofWorkspacePolicies, ofConfig].flatMap((one) => Object.keys(modesOf(one).detectors ?? {}));
    for (const name of new Set(names)) {
      const isAnyOn = parts.has(`${path}.mode`);
      const own = (one: Policies) => modesOf(one).detectors?.[name] ?? onlyOn(modesOf(one).mode);
      add(`${path}.detectors.${name}`, (one) => (isAnyOn ? own(one) : onlyOn(own(one))), stronger);
    }
  }
  return parts;
}

const onlyOn = (mode: Mode | undefined): Mode | undefined => (mode === "off" ? undefined : mode);
