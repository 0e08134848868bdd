/** Sinks over the API: who may make which, what is shown and recorded, and what never is. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestReceiver } from "../sinks/receiver.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scene, scenarios } from "../support/scenario.ts";

const ID = expect.stringMatching(/^snk_[0-9a-z]{26}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

let daemon: TestDaemon;
let workspace: TestWorkspace;
let receiver: TestReceiver;
beforeAll(async () => {
  receiver = await TestReceiver.start();
  daemon = await TestDaemon.start({ flags: { sink_allow: "127.0.0.1" } });
  workspace = await daemon.workspace();
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** A webhook that nothing is delivered to. */
const webhook = (more: object = {}) => ({
  type: "webhook",
  url: receiver.url,
  ca: receiver.ca,
  enabled: false,
  ...more,
});

const given = async ({ client }: Scene) => {
  const { status, json } = await client.post("/v1/sinks", webhook());
  expect(status).toBe(201);
  return json;
};
const at = ({ made }: Scene, more = "") => `/v1/sinks/${made.id}${more}`;
const place = () => new URL(receiver.url).host;

scenarios(
  () => workspace,
  [
    {
      name: "a webhook is made",
      request: () => ({ path: "/v1/sinks", body: webhook({ filter: { operations: ["data.write"] } }) }),
      status: 201,
      appends: ["- sink.create ok"],
      body: () => ({
        id: ID,
        type: "webhook",
        url: receiver.url,
        format: "governd",
        filter: { operations: ["data.write"] },
        include_details: false,
        start: "now",
        enabled: false,
        state: "disabled",
        position: null,
        last_delivery_at: null,
        last_error: null,
        created_at: TIME,
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
        public_key: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
      }),
      // What follows the host of an address may be a secret.
      details: () => ({
        sink_id: ID,
        type: "webhook",
        receiver: place(),
        format: "governd",
        filter: { operations: ["data.write"] },
        include_details: false,
        enabled: false,
        start: "now",
        settings_digest: HASH,
      }),
    },
    {
      name: "a sink is read without its secrets",
      given,
      request: (scene) => ({ path: at(scene) }),
      status: 200,
      appends: [],
      check: ({ made }, { json, text }) => {
        const { secret, public_key: _, audit_id: __, ...shown } = made;
        expect(json).toEqual(shown);
        expect(text).not.toContain(secret.slice("whsec_".length));
      },
    },
    {
      name: "sinks are listed, the oldest first",
      given,
      request: () => ({ path: "/v1/sinks" }),
      status: 200,
      appends: [],
      check: ({ made }, { json }) => expect(json.data.at(-1).id).toBe(made.id),
    },
    {
      name: "a sink is changed",
      given,
      request: (scene) => ({ method: "PATCH", path: at(scene), body: { format: "ocsf", token: "hec-confidential" } }),
      status: 200,
      appends: ["- sink.change ok"],
      body: { format: "ocsf", filter: {} },
      details: ({ made }) => ({
        sink_id: made.id,
        changed: ["format", "token"],
        format: "ocsf",
        settings_digest: HASH,
      }),
      check: (_, { text }) => expect(text).not.toContain("hec-confidential"),
    },
    {
      name: "a change that changes nothing is not recorded",
      given,
      request: (scene) => ({ method: "PATCH", path: at(scene), body: { format: "governd" } }),
      status: 200,
      appends: [],
      body: { audit_id: null },
    },
    {
      name: "signing keys are replaced",
      given,
      request: (scene) => ({ method: "POST", path: at(scene, "/rotate"), headers: { traceparent: TRACEPARENT } }),
      status: 200,
      appends: ["- sink.rotate ok"],
      details: ({ made }) => ({
        sink_id: made.id,
        old_keys_until: TIME,
        settings_digest: HASH,
        trace: TRACEPARENT,
        session: TRACEPARENT.split("-")[1],
      }),
      check: ({ made }, { json }) => expect(json.secret).not.toBe(made.secret),
    },
    {
      name: "a sink is tested",
      given,
      request: (scene) => ({ method: "POST", path: at(scene, "/test") }),
      status: 200,
      appends: ["- sink.test ok"],
      body: { delivered: true, message: null },
      details: ({ made }) => ({ sink_id: made.id }),
      check: ({ made }) => expect(receiver.lines.at(-1)).toEqual({ type: "test", sink_id: made.id }),
    },
    {
      name: "a sink is removed",
      given,
      request: (scene) => ({ method: "DELETE", path: at(scene) }),
      status: 200,
      appends: ["- sink.remove ok"],
      body: { deleted: 1 },
      details: ({ made }) => ({ sink_id: made.id, position: null }),
      check: async (scene) => expect((await scene.client.get(at(scene))).json.code).toBe("sink_not_found"),
    },
    {
      name: "a receiver that the setting does not name",
      request: () => ({ path: "/v1/sinks", body: webhook({ url: "https://elsewhere.example/in" }) }),
      // A network is named, and a name may lead into it: that is decided with each connection.
      status: 201,
      appends: ["- sink.create ok"],
    },
    {
      name: "an address that the setting does not name",
      request: () => ({ path: "/v1/sinks", body: webhook({ url: "https://127.0.0.2/in" }) }),
      status: 403,
      code: "forbidden",
      param: "url",
      appends: [],
    },
    {
      name: "a receiver without TLS",
      request: () => ({ path: "/v1/sinks", body: webhook({ url: "http://127.0.0.1/in" }) }),
      status: 400,
      code: "invalid_request",
      param: "url",
      appends: [],
    },
    ...(["tls://siem.example.org/in", "tls://user@siem.example.org", "https://siem.example.org"] as const).map(
      (url) => ({
        name: `a syslog receiver at ${url}`,
        request: () => ({ path: "/v1/sinks", body: webhook({ type: "syslog", url }) }),
        status: 400,
        code: "invalid_request" as const,
        param: "url",
        appends: [],
      }),
    ),
    {
      name: "a file without a directory for files",
      request: () => ({ path: "/v1/sinks", body: webhook({ type: "file", url: "events.ndjson" }) }),
      status: 403,
      code: "forbidden",
      param: "url",
      appends: [],
    },
    {
      name: "a file outside of the directory",
      request: () => ({ path: "/v1/sinks", body: webhook({ type: "file", url: "../events.ndjson" }) }),
      status: 400,
      code: "invalid_request",
      param: "url",
      appends: [],
    },
    {
      name: "a Splunk collector without its token",
      request: () => ({ path: "/v1/sinks", body: webhook({ type: "splunk_hec" }) }),
      status: 400,
      code: "invalid_request",
      param: "token",
      appends: [],
    },
    {
      name: "a certificate without its key",
      request: () => ({ path: "/v1/sinks", body: webhook({ client_certificate: receiver.ca }) }),
      status: 400,
      code: "invalid_request",
      param: "client_key",
      appends: [],
    },
    {
      name: "a text that is no certificate",
      request: () => ({ path: "/v1/sinks", body: webhook({ ca: "none" }) }),
      status: 400,
      code: "invalid_request",
      param: "ca",
      appends: [],
    },
  ],
);

test("an auditor reads sinks; only a key of full scope without a limit changes them", async () => {
  const made = (await workspace.client.post("/v1/sinks", webhook())).json;
  const auditor = await daemon.clientWith(workspace.id, { scope: "auditor" });
  expect((await auditor.get(`/v1/sinks/${made.id}`)).status).toBe(200);
  expect((await auditor.post("/v1/sinks", webhook())).status).toBe(403);
  const limited = await daemon.clientWith(workspace.id, { scope: "full", agents: ["a"] });
  for (const sent of [{ path: "/v1/sinks" }, { path: "/v1/sinks", body: webhook() }]) {
    expect([(await limited.send(sent)).status, sent]).toEqual([403, sent]);
  }
  const other = await daemon.workspace();
  expect((await other.client.get(`/v1/sinks/${made.id}`)).status).toBe(404);
});
