/** Connections to receivers: where they may go, whom they trust, what they show of themselves, what they are told. */
import { describe, expect, test } from "bun:test";
import { AllowedPlaces } from "../../src/follow/sinks/allowed.ts";
import { testMessage } from "../../src/follow/sinks/batch.ts";
import { type SinkConfig, SinkFailed } from "../../src/follow/sinks/config.ts";
import { receiverOf } from "../../src/follow/sinks/receivers.ts";
import { makeCertificate } from "../http/support/certificate.ts";
import { PATIENCE_MS } from "../patience.ts";
import { sinkWith } from "./config.ts";
import { TestReceiver } from "./receiver.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

const sinkTo = ({ url, ca }: { url: string; ca: string | null }, more: Partial<SinkConfig> = {}): SinkConfig =>
  sinkWith({ workspaceId: "ws_1", type: "otlp", url, ca, ...more });

/** Sends a record. Returns what was not accepted, or throws. */
async function send(sink: SinkConfig, allowed = new AllowedPlaces(["127.0.0.1"])): Promise<string | null> {
  using receiver = receiverOf(sink, { allowed, directory: null, clock: () => NOW });
  return await receiver.send(testMessage(sink, NOW), AbortSignal.timeout(PATIENCE_MS));
}

/** What a delivery that fails says. */
async function failureOf(...given: Parameters<typeof send>): Promise<SinkFailed> {
  try {
    await send(...given);
  } catch (error) {
    if (error instanceof SinkFailed) return error;
    throw error;
  }
  throw new Error("it was delivered");
}

describe("TLS", () => {
  test("a receiver is trusted by its own authority alone", async () => {
    await using receiver = await TestReceiver.start();
    const { cert: other } = await makeCertificate();
    expect(await send(sinkTo(receiver))).toBeNull();
    for (const ca of [null, other]) {
      expect((await failureOf(sinkTo({ url: receiver.url, ca }))).message).toContain("cannot be verified");
    }
    expect(receiver.requests).toBe(1);
  });

  test("a receiver gets the client's certificate that it asks for", async () => {
    const { key, cert } = await makeCertificate();
    const other = await makeCertificate();
    const asks = { ca: cert, requestCert: true, rejectUnauthorized: true };
    await using receiver = await TestReceiver.start(() => 200, asks);
    expect(await send(sinkTo(receiver, { clientCertificate: cert, clientKey: key }))).toBeNull();
    await failureOf(sinkTo(receiver));
    await failureOf(sinkTo(receiver, { clientCertificate: other.cert, clientKey: other.key }));
    expect(receiver.requests).toBe(1);
  });

  test("a receiver's certificate must be for its name", async () => {
    await using receiver = await TestReceiver.start();
    const allowed = new AllowedPlaces(["127.0.0.1"], async () => [{ address: "127.0.0.1", family: 4 }]);
    const at = (host: string) => ({ url: receiver.url.replace("127.0.0.1", host), ca: receiver.ca });
    expect(await send(sinkTo(at("localhost")), allowed)).toBeNull();
    expect((await failureOf(sinkTo(at("siem.example.org")), allowed)).message).toContain("for another name");
  });
});

test.each([
  ["120", 120_000],
  ["Thu, 01 Jan 2026 00:10:00 GMT", 600_000],
  ["Wed, 31 Dec 2025 23:00:00 GMT", 0],
  ["999999", 3_600_000],
  ["soon", null],
  [null, null],
])("Retry-After %p", async (value, expected) => {
  const headers = value === null ? {} : { "retry-after": value };
  await using receiver = await TestReceiver.start(() => ({ status: 503, headers }));
  const { retryAfterMs, isGone, message } = await failureOf(sinkTo(receiver));
  expect([retryAfterMs, isGone, message]).toEqual([expected, false, "the receiver answered 503"]);
});

describe("a collector's partial success", () => {
  test.each([
    ['{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"confidential"}}', "did not accept 2 records"],
    ['{"partialSuccess":{"rejectedLogRecords":3}}', "did not accept 3 records"],
    ['{"partialSuccess":{"errorMessage":"a warning"}}', null],
    ['{"partialSuccess":{}}', null],
    ["{}", null],
    ["", null],
    ["null", null],
    ["not JSON", null],
  ])("%s", async (body, expected) => {
    await using receiver = await TestReceiver.start(() => ({ status: 200, headers: {}, body }));
    const refused = await send(sinkTo(receiver));
    if (expected === null) expect(refused).toBeNull();
    else expect(refused).toContain(expected);
    expect(refused ?? "").not.toContain("confidential");
  });
});

describe("allowed places", () => {
  const PORT = 443;
  /** Reports whether a connection to a host whose name leads to these addresses would be made. */
  async function reaches(entries: readonly string[], host: string, leadsTo: string[] = [], port = PORT) {
    const resolved = leadsTo.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const allowed = new AllowedPlaces(entries, async () => resolved);
    try {
      return (await allowed.addressesOf(host, port)).map(({ address }) => address);
    } catch (error) {
      if (error instanceof SinkFailed) return [];
      throw error;
    }
  }

  const OWN = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "169.254.169.254",
    "::1",
    "::",
    "fe80::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:a9fe:a9fe",
    "224.0.0.1",
    "255.255.255.255",
    "ff02::1",
  ];

  test.each(OWN)("a name that is allowed does not lead to %s", async (address) => {
    expect(await reaches(["siem.example.org"], "siem.example.org", [address])).toEqual([]);
    expect(await reaches(["siem.example.org:443"], "siem.example.org", [address])).toEqual([]);
  });

  test.each(OWN.filter((address) => !address.startsWith("::ffff")))(
    "%s is allowed when it is named",
    async (address) => {
      expect(await reaches([address], "siem.example.org", [address])).toEqual([address]);
      expect(await reaches([address], address)).toEqual([address]);
    },
  );

  test("of several addresses only the allowed ones are used", async () => {
    const all = ["127.0.0.1", "192.0.2.1", "fe80::1", "2001:db8::1"];
    expect(await reaches(["siem.example.org"], "siem.example.org", all)).toEqual(["192.0.2.1", "2001:db8::1"]);
    expect(await reaches(["192.0.2.0/24"], "siem.example.org", all)).toEqual(["192.0.2.1"]);
  });

  test("a name, with or without a port, is that name alone", async () => {
    const to = ["192.0.2.1"];
    expect(await reaches(["siem.example.org"], "SIEM.example.org", to)).toEqual(to);
    expect(await reaches(["siem.example.org"], "other.siem.example.org", to)).toEqual([]);
    expect(await reaches(["siem.example.org"], "siem.example.org.", to)).toEqual([]);
    expect(await reaches(["siem.example.org:8088"], "siem.example.org", to)).toEqual([]);
    expect(await reaches(["siem.example.org:8088"], "siem.example.org", to, 8088)).toEqual(to);
  });

  test("an address with a port is that port alone", async () => {
    expect(await reaches(["127.0.0.1:8088"], "127.0.0.1")).toEqual([]);
    expect(await reaches(["127.0.0.1:8088"], "127.0.0.1", [], 8088)).toEqual(["127.0.0.1"]);
    expect(await reaches(["[::1]:8088"], "::1", [], 8088)).toEqual(["::1"]);
  });

  test("nothing is allowed without entries, and a name that cannot be resolved is told", async () => {
    expect(await reaches([], "siem.example.org", ["192.0.2.1"])).toEqual([]);
    const allowed = new AllowedPlaces(["siem.example.org"], () => Promise.reject(new Error("confidential")));
    await expect(allowed.addressesOf("siem.example.org", PORT)).rejects.toThrow(
      "the receiver's name cannot be resolved",
    );
  });

  test("an address is looked up for each connection: a name that leads elsewhere later is refused then", async () => {
    await using receiver = await TestReceiver.start();
    let address = "127.0.0.1";
    const allowed = new AllowedPlaces(["127.0.0.1"], async () => [{ address, family: 4 }]);
    const sink = sinkTo({ url: receiver.url.replace("127.0.0.1", "localhost"), ca: receiver.ca });
    expect(await send(sink, allowed)).toBeNull();
    address = "127.0.0.2";
    expect((await failureOf(sink, allowed)).message).toContain("sink_allow");
    expect(receiver.requests).toBe(1);
  });
});
