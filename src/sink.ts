/**
 * The types of a sink: an external receiver, such as a SIEM, to which the events of a workspace are delivered in order.
 */

/** The protocols for delivery to a receiver. */
export const SINK_TYPES = ["webhook", "syslog", "otlp", "splunk_hec", "file"] as const;
export type SinkType = (typeof SINK_TYPES)[number];

/** The forms of an event. */
export const SINK_FORMATS = ["governd", "cloudevents", "ocsf"] as const;
export type SinkFormat = (typeof SINK_FORMATS)[number];

/** Selects the events to deliver: those that match every list. An absent list matches all events. */
export interface SinkFilter {
  operations?: readonly string[];
  results?: readonly string[];
  agents?: readonly string[];
  /** The sessions of requests. */
  sessions?: readonly string[];
}

/** Where a sink begins: after the event of its creation, with the first event of the log, or at a position. */
export type SinkStart = "now" | "beginning" | number;

/** The settings of a sink that can change. */
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

/** Returns the places that sinks may deliver to according to the settings. */
export const sinkPlaces = (settings: { sink_allow: readonly string[]; sink_directory: string | null }): SinkPlaces => ({
  allow: settings.sink_allow,
  directory: settings.sink_directory,
});

/** The settings for where sinks may deliver to. */
export interface SinkPlaces {
  /** `sink_allow`. */
  allow: readonly string[];
  /** `sink_directory`; null: no files. */
  directory: string | null;
}

/** A new sink as requested. */
export interface SinkRequest extends SinkSettings, SinkCredentials {
  type: SinkType;
  start: SinkStart;
}

/** Why the last delivery failed, or what part of it was refused. It holds no secret. */
export interface SinkError {
  /** Ms since the Unix epoch. */
  at: number;
  message: string;
  /** Set when the delivery was acknowledged, except for what the message says. */
  isPartial?: true;
}

/** The progress of a sink: everything that changes with deliveries. */
export interface SinkProgress {
  /** The last event that the receiver acknowledged or that the filter leaves out, `seq`; null before the first. */
  position: number | null;
  /** When the receiver last acknowledged something, ms since the Unix epoch; null before that. */
  deliveredAt: number | null;
  lastError: SinkError | null;
}
