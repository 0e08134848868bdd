/** What operations need of the installation besides the workspace. Plain data, since threads get it. */
import type { SinkPlaces } from "../../sink.ts";

export interface Site {
  /** The file of the key that encrypts the secrets of sinks. */
  sinkKey: string;
  /** The receivers that the settings allow. */
  places: SinkPlaces;
}

/** The site of a program that has none: nothing may be delivered anywhere. */
export const NO_SITE: Site = { sinkKey: "", places: { allow: [], directory: null } };
