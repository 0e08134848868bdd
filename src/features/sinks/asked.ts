/** What requests and commands ask for of sinks, from the bodies of the API. */
import type { Static } from "@sinclair/typebox";
import type { SinkCredentials, SinkSettings, SinkWish } from "../../sink.ts";
import type { ChangedSink, NewSink } from "./schema.ts";

/** What a new sink has that its wish does not say. */
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

/** Returns the sink that a body wishes for. */
export const wishOf = ({ type, url, start = "now", ...others }: Static<typeof NewSink>): SinkWish => ({
  type,
  url,
  start,
  ...DEFAULTS,
  ...askedOf(others),
});

/** Returns what a body asks for; members that it does not have are left out. */
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
