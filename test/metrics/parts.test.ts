/** The parts of the metrics: histograms, the count of requests, sizes of files. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { Registry } from "prom-client";
import { Exchange } from "../../src/serve/http/pipeline/exchange.ts";
import { RequestMeter } from "../../src/serve/http/pipeline/request-meter.ts";
import { Families } from "../../src/serve/metrics/family.ts";
import { Histogram } from "../../src/serve/metrics/histogram.ts";
import { StorageMeter } from "../../src/serve/metrics/storage.ts";
import { ThreadGauges } from "../../src/serve/threads/gauges.ts";
import { eventually } from "../eventually.ts";
import { temporaryDirectory } from "../temporary.ts";

describe("a histogram", () => {
  test("counts what is not above each bound", () => {
    const histogram = new Histogram([1, 2, 5]);
    for (const value of [0.5, 1, 1.5, 5, 7]) histogram.observe(value);
    expect(histogram.cumulative).toEqual([2, 3, 4, 5]);
    expect(histogram.sum).toBe(15);
  });

  test("takes over another one", () => {
    const [a, b] = [new Histogram([1]), new Histogram([1])];
    a.observe(1);
    b.observe(2);
    a.add(b);
    expect([a.cumulative, a.sum]).toEqual([[1, 2], 3]);
  });

  test("is written as Prometheus wants it", async () => {
    const registry = new Registry();
    const histogram = new Histogram([0.5, 1]);
    histogram.observe(0.75);
    new Families(registry, () => {}).histogram("h", "Help.", () => [{ labels: { a: "b" }, histogram }]);
    expect(await registry.metrics()).toBe(
      [
        "# HELP h Help.",
        "# TYPE h histogram",
        'h_bucket{le="0.5",a="b"} 0',
        'h_bucket{le="1",a="b"} 1',
        'h_bucket{le="+Inf",a="b"} 1',
        'h_sum{a="b"} 0.75',
        'h_count{a="b"} 1',
        "",
      ].join("\n"),
    );
  });
});

test("a family whose numbers cannot be had does not take the others with it", async () => {
  const registry = new Registry();
  const failed: string[] = [];
  const families = new Families(registry, (family) => void failed.push(family));
  families.gauge("bad", "Bad.", () => {
    throw new Error("no");
  });
  families.gauge("good", "Good.", async () => 7);
  const text = await registry.metrics();
  expect(text).toContain("good 7");
  expect(text).not.toMatch(/^bad/m);
  expect(failed).toEqual(["bad"]);
});

describe("the count of requests", () => {
  const exchange = (method: string, route: string | null) => Object.assign(new Exchange("r", method, 0), { route });

  test("knows the common methods by name, and no others", () => {
    const meter = new RequestMeter();
    for (const method of ["GET", "BREW", "PROPFIND", "GET"]) {
      meter.count(exchange(method, "/v1/x"), 200, 3);
    }
    const seen = [...meter.routes()].map(({ method, byStatus }) => [method, byStatus.get(200)]);
    expect(seen).toEqual([
      ["GET", 2],
      ["other", 2],
    ]);
  });

  test("takes milliseconds and keeps seconds", () => {
    const meter = new RequestMeter();
    meter.count(exchange("GET", null), 401, 250);
    const [route] = meter.routes();
    expect([route?.route, route?.durations.sum]).toEqual(["none", 0.25]);
  });
});

test("a thread's numbers are read through shared memory, and a restarted thread resets its gauges", () => {
  const ours = new ThreadGauges();
  const its = new ThreadGauges(ours.memory);
  its.begin();
  its.set("openWorkspaces", 3);
  its.increment("sealFailures");
  its.transactions.observe(0.002);
  expect([ours.get("openWorkspaces"), ours.get("sealFailures")]).toEqual([3, 1]);
  expect(ours.transactions.cumulative.at(-1)).toBe(1);
  new ThreadGauges(ours.memory).begin();
  expect([ours.get("openWorkspaces"), ours.get("sealFailures")]).toEqual([0, 1]);
  expect(ours.transactions.cumulative.at(-1)).toBe(1);
});

test("sizes of files are measured at most once a minute", async () => {
  using directory = temporaryDirectory();
  const [workspaces, seals] = ["workspaces", "seals"].map((name) => directory.join(name)) as [string, string];
  for (const path of [workspaces, seals]) mkdirSync(path);
  for (let i = 0; i < 200; i++) writeFileSync(`${workspaces}/${i}.db`, "xx");
  let nowMs = 0;
  const meter = new StorageMeter({ root: directory.path, workspaces, seals }, () => nowMs);
  expect(await meter.sizes()).toEqual({ workspaces: 400, seals: 0 });
  writeFileSync(`${seals}/a.log`, "seal");
  expect((await meter.sizes()).seals).toBe(0);
  nowMs = 61_000;
  await eventually("they are measured again", async () => (await meter.sizes()).seals === 4);
  expect(await meter.sizes()).toEqual({ workspaces: 400, seals: 4 });
});
