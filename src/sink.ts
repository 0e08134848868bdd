/** What a sink is: a receiver outside, such as a SIEM, to which the events of a workspace are delivered in their order. */

/** The ways to a receiver. */
export const SINK_TYPES = ["webhook", "syslog", "otlp", "splunk_hec", "file"] as const;
export type SinkType = (typeof SINK_TYPES)[number];

/** The forms of an event. */
export const SINK_FORMATS = ["governd", "cloudevents", "ocsf"] as const;
export type SinkFormat = (typeof SINK_FORMATS)[number];

/** Which events are delivered: those that are in every list. An absent list names all. */
export interface SinkFilter {
  operations?: readonly string[];
  results?: readonly string[];
  agents?: readonly string[];
}

/** Where a sink begins: behind the event of its creation, with the first event that is there, or with a position. */
export type SinkStart = "now" | "beginning" | number;

/** What a change of a sink can change. */
export interface SinkSettings {
  url: string;
  format: SinkFormat;
  filter: SinkFilter;
  /** Whether the details of events are delivered. */
  includeDetails: boolean;
  enabled: boolean;
  /** The authorities that the receiver's certificate is checked with, PEM; null for those of the system. */
  ca: string | null;
  /** PEM; null for none. */
  clientCertificate: string | null;
}

/** Secrets that the operator chose; null for none. */
export interface SinkCredentials {
  /** PEM. */
  clientKey: string | null;
  token: string | null;
}

/** Returns where the settings let sinks deliver to. */
export const sinkPlaces = (settings: { sink_allow: readonly string[]; sink_directory: string | null }): SinkPlaces => ({
  allow: settings.sink_allow,
  directory: settings.sink_directory,
});

/** The settings that say where sinks may deliver to. */
export interface SinkPlaces {
  /** `sink_allow`. */
  allow: readonly string[];
  /** `sink_directory`; null: no files. */
  directory: string | null;
}

/** A sink as somebody wants it. */
export interface SinkWish extends SinkSettings, SinkCredentials {
  type: SinkType;
  start: SinkStart;
}

/** Why the last delivery failed, or what of it was not accepted. It holds no secret. */
export interface SinkError {
  /** Ms since the Unix epoch. */
  at: number;
  message: string;
  /** Set when the delivery was acknowledged, except for what the message says. */
  isPartial?: true;
}

/** How far a sink has come: all that changes with deliveries. */
export interface SinkProgress {
  /** The last event that the receiver acknowledged or that the filter leaves out, `seq`; null before the first. */
  position: number | null;
  /** When the receiver last acknowledged something, ms since the Unix epoch; null before that. */
  deliveredAt: number | null;
  lastError: SinkError | null;
}
