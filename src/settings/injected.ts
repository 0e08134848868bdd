/**
 * Variables that others set in the environment and that look like settings. Kubernetes describes each service of a
 * namespace to its pods, and Docker each linked container, in variables that begin with the name of the service or
 * container: beside one called `governd`, with `GOVERND_`.
 */
import { isIP } from "node:net";
import { VARIABLE_PREFIX } from "./definitions.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that describe a seal to the program that it is given to. */
export const SEAL_VARIABLES = {
  workspaceId: "GOVERND_WORKSPACE_ID",
  size: "GOVERND_SEAL_SIZE",
  epoch: "GOVERND_SEAL_EPOCH",
} as const;

const PORT = /^\d{1,5}$/;
const PROTOCOL = /^(?:tcp|udp|sctp)$/;
const PLACE = /^(?:tcp|udp|sctp):\/\/(?:[\d.]+|\[?[\da-f:.]+\]?):\d{1,5}$/i;
const isAddress = (value: string): boolean => isIP(value) !== 0;

/** What follows the name of a service or container, and the form of the value. A setting of ours has another form. */
const DESCRIPTIONS: readonly [end: RegExp, isValue: (value: string) => boolean][] = [
  [/_SERVICE_HOST$/, isAddress],
  [/_SERVICE_PORT(?:_[A-Z0-9_]+)?$/, (value) => PORT.test(value)],
  [/_PORT$/, (value) => PLACE.test(value)],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)$/, (value) => PLACE.test(value)],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_PROTO$/, (value) => PROTOCOL.test(value)],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_PORT$/, (value) => PORT.test(value)],
  [/_PORT_\d+_(?:TCP|UDP|SCTP)_ADDR$/, isAddress],
];
/** The variable with which Docker names a linked container, and its value: two names. */
const LINK = /^(.*_)NAME$/;
const LINKED = /^\/[^/]+\/[^/]+$/;

/**
 * Returns the variables that begin like a setting and that somebody else set: they are no mistakes. The environment of a
 * linked container is described with any names, beside the variable that names it.
 */
export function injectedVariables(environment: Environment): ReadonlySet<string> {
  const variables = Object.entries(environment).filter(([name]) => name.startsWith(VARIABLE_PREFIX));
  const links = variables.flatMap(([name, value = ""]) => (LINKED.test(value) ? (LINK.exec(name)?.[1] ?? []) : []));
  const isDescription = ([name, value = ""]: [string, string | undefined]) =>
    DESCRIPTIONS.some(([end, isValue]) => end.test(name) && isValue(value)) ||
    links.some((link) => name === `${link}NAME` || name.startsWith(`${link}ENV_`));
  return new Set([...Object.values(SEAL_VARIABLES), ...variables.filter(isDescription).map(([name]) => name)]);
}
