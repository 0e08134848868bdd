/** Converts the API's bodies about sinks, for requests and commands. */
import type { Static } from "@sinclair/typebox";
import type { SinkCredentials, SinkRequest, SinkSettings } from "../../sink.ts";
import type { ChangedSink, NewSink } from "./schema.ts";

/** The default settings of a new sink. */
const DEFAULTS = {
  format: "governd",
  filter: {},
  includeDetails: false,
  enabled: true,
  ca: null,
  clientCertificate: null,
  clientKey: null,
  token: null,
} as const;

/** Returns the new sink that a body describes. */
export const requestOf = ({ type, url, start = "now", ...others }: Static<typeof NewSink>): SinkRequest => ({
  type,
  url,
  start,
  ...DEFAULTS,
  ...askedOf(others),
});

/** Returns the change that a body describes, without members that the body lacks. */
export function askedOf(body: Static<typeof ChangedSink>): Partial<SinkSettings & SinkCredentials> {
  const { url, format, filter, include_details, enabled, ca, client_certificate, client_key, token } = body;
  const asked = {
    url,
    format,
    filter,
    includeDetails: include_details,
    enabled,
    ca,
    clientCertificate: client_certificate,
    clientKey: client_key,
    token,
  };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}
