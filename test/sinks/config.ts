/** The configuration of a sink as tests begin with. */
import type { SinkConfig } from "../../src/follow/sinks/config.ts";

/** Returns a webhook that gets everything from the beginning, without details, except for what `more` says. */
export const sinkWith = (more: Partial<SinkConfig> & Pick<SinkConfig, "workspaceId">): SinkConfig => ({
  id: "snk_1",
  type: "webhook",
  url: "https://siem.example.org/in",
  format: "governd",
  filter: {},
  includeDetails: false,
  ca: null,
  clientCertificate: null,
  clientKey: null,
  token: null,
  signing: [],
  start: "beginning",
  createdSeq: 0,
  ...more,
});
