/** The metrics of a running daemon: that they are true, and what the dashboard and the alerts ask for is there. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";
import { Scrape } from "./scrape.ts";

const DOCS = join(import.meta.dir, "../../docs");

let daemon: TestDaemon;
let workspace: TestWorkspace;
const begunMs = Date.now();

beforeAll(async () => {
  daemon = await TestDaemon.start({
    flags: { metrics_listen: "127.0.0.1:0", seal_interval: "1s", anchor_command: "/bin/true" },
  });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const scrape = () => Scrape.of(daemon.metricsUrl as string);

/** What is scraped once it is so. */
async function scrapedWhen(what: string, isSo: (seen: Scrape) => boolean): Promise<Scrape> {
  let seen = await scrape();
  await eventually(what, async () => {
    if (isSo(seen)) return true;
    seen = await scrape();
    return isSo(seen);
  });
  return seen;
}

describe("what is counted", () => {
  test("requests by route and status, decisions by policy, operations by result", async () => {
    const { client } = workspace;
    const before = await scrape();
    await client.configure("a", { policies: { block_pii: true, block_secrets: true } });
    await client.write("a", "k", "plain");
    await client.write("a", "k", "write to jo@example.org");
    await client.write("a", "k", `key: ${"ghp_"}${"a1B2c3D4e5".repeat(3)}F6g7h8`);
    await client.read("a", "absent");
    await client.post("/v1/agents/a/suspend", {});
    await client.write("a", "k", "plain");
    await client.post("/v1/agents/a/resume", {});
    const after = await scrape();
    const rose = (line: string) => after.value(line) - before.value(line);
    expect(rose('governd_http_requests_total{method="POST",route="/v1/data/write",status="200"}')).toBe(3);
    expect(rose('governd_http_requests_total{method="POST",route="/v1/data/write",status="403"}')).toBe(1);
    expect(rose('governd_http_requests_total{method="GET",route="/v1/data/read",status="404"}')).toBe(1);
    expect(rose('governd_http_request_duration_seconds_count{method="POST",route="/v1/data/write"}')).toBe(4);
    expect(rose('governd_policy_decisions_total{decision="allowed",policy="none"}')).toBe(1);
    expect(rose('governd_policy_decisions_total{decision="blocked",policy="block_pii"}')).toBe(1);
    expect(rose('governd_policy_decisions_total{decision="blocked",policy="block_secrets"}')).toBe(1);
    expect(rose('governd_policy_decisions_total{decision="denied",policy="suspension"}')).toBe(1);
    expect(rose('governd_operations_total{operation="data.write",result="blocked"}')).toBe(2);
    expect(rose('governd_operations_total{operation="data.read",result="not_found"}')).toBe(1);
    expect(rose('governd_http_problems_total{code="agent_suspended"}')).toBe(1);
    expect(rose("governd_group_size_sum")).toBeGreaterThanOrEqual(8);
  });

  test("the parts of a batch, as if each were a request of its own", async () => {
    const { client } = workspace;
    await client.configure("parts", { policies: { block_pii: true, block_secrets: true } });
    const write = (value: string) => ({ op: "write", key: "k", value });
    const mail = write("write to jo@example.org");
    const operations = [write("plain"), mail, mail, { op: "read", key: "k" }, { op: "delete", key: "none" }];
    const rise = async (atomic: boolean) => {
      const before = await scrape();
      await client.post("/v1/data/batch", { agent_id: "parts", atomic, operations });
      const after = await scrape();
      const names = after.names.filter((name) => /^governd_(operations|policy_decisions)_total/.test(name));
      const rises = names.map((name) => [
        name,
        after.value(name) - (before.names.includes(name) ? before.value(name) : 0),
      ]);
      return Object.fromEntries(rises.filter(([, by]) => by !== 0));
    };
    const blocked = {
      'governd_policy_decisions_total{decision="blocked",policy="block_pii"}': 2,
      'governd_operations_total{operation="data.write",result="blocked"}': 2,
    };
    expect(await rise(true)).toEqual(blocked);
    expect(await rise(false)).toEqual({
      ...blocked,
      'governd_policy_decisions_total{decision="allowed",policy="none"}': 1,
      'governd_operations_total{operation="data.write",result="allowed"}': 1,
      'governd_operations_total{operation="data.read",result="ok"}': 1,
      'governd_operations_total{operation="data.delete",result="not_found"}': 1,
    });
    await client.post("/v1/agents/parts/suspend", {});
    expect(await rise(true)).toEqual({
      'governd_policy_decisions_total{decision="denied",policy="suspension"}': 1,
      'governd_operations_total{operation="data.write",result="denied"}': 1,
    });
  });

  test("what is denied, by each thing that denies", async () => {
    await using small = await TestDaemon.start({ flags: { metrics_listen: "127.0.0.1:0", quota_entries: "1" } });
    const { client } = await small.workspace();
    const denied = async () => {
      const seen = await Scrape.of(small.metricsUrl as string);
      const names = seen.names.filter((name) => /^governd_policy_decisions_total\{.*"denied"/.test(name));
      return Object.fromEntries(names.map((name) => [/policy="(\w+)"/.exec(name)?.[1], seen.value(name)]));
    };
    expect(await denied()).toEqual({ suspension: 0, quota: 0 });
    await client.write("a", "1", "v");
    await client.write("a", "2", "v");
    await client.write("b", "1", "v");
    expect(await denied()).toEqual({ suspension: 0, quota: 2 });
    const { id } = (await client.checkpoint("a")).json;
    await client.delete("/v1/data", { agent_id: "a", key: "1" });
    await client.write("b", "1", "v");
    await client.post(`/v1/checkpoints/${id}/restore`, {});
    expect(await denied()).toEqual({ suspension: 0, quota: 3 });
    await client.post("/v1/agents/a/suspend", {});
    await client.write("a", "1", "v");
    await client.read("a", "1");
    expect(await denied()).toEqual({ suspension: 2, quota: 3 });
  });

  test("refused credentials and unknown paths, without names from the client", async () => {
    const { client } = workspace;
    const before = await scrape();
    await client.send({ path: "/v1/config/private-name", key: null });
    await client.send({ path: "/v1/config/private-name", key: "wrong" });
    await client.send({ path: "/v1/private-path" });
    const after = await scrape();
    const rose = (line: string) => after.value(line) - before.value(line);
    expect(rose('governd_authentication_failures_total{code="unauthenticated"}')).toBe(2);
    expect(rose('governd_http_requests_total{method="GET",route="none",status="401"}')).toBe(2);
    expect(rose('governd_http_requests_total{method="GET",route="none",status="404"}')).toBe(1);
    expect(after.text).not.toContain("private");
  });

  test("seals, and that they reached where they are taken to", async () => {
    const delivered = 'governd_anchors_delivered_total{sink="command true"}';
    await workspace.client.write("a", "sealed", "soon");
    const seen = await scrapedWhen(
      "everything is sealed, and delivered",
      (now) =>
        now.value("governd_unsealed_workspaces") === 0 &&
        now.value('governd_anchor_waiting{sink="command true"}') === 0 &&
        now.value(delivered) > 0,
    );
    expect(seen.value("governd_seals_total")).toBeGreaterThan(0);
    expect(seen.value("governd_seal_lag_seconds")).toBe(0);
    expect(seen.value("governd_last_seal_timestamp_seconds")).toBeWithin(begunMs / 1_000, (Date.now() + 1) / 1_000);
    expect(seen.value('governd_anchor_lag_seconds{sink="command true"}')).toBe(0);
    expect(seen.value("governd_seal_failures_total")).toBe(0);
  });

  test("what is not sealed yet, and since when", async () => {
    await using slow = await TestDaemon.start({ flags: { metrics_listen: "127.0.0.1:0", seal_interval: "1d" } });
    const of = async () => Scrape.of(slow.metricsUrl as string);
    // The first sweep opens the log of the installation, which is sealed. What is open is counted after an operation.
    const before = 2;
    const first = await slow.workspace();
    await eventually("the log of the installation is open", async () => {
      expect((await first.client.write("a", "k", "v")).status).toBe(200);
      return (await of()).value("governd_workspaces_open") === before;
    });
    // Often, since a gauge that is set behind the answer is mostly in time.
    for (let made = 1; made <= 10; made++) {
      const { client } = await slow.workspace();
      expect((await client.write("a", "k", "v")).status).toBe(200);
      const seen = await of();
      expect([seen.value("governd_unsealed_workspaces"), seen.value("governd_workspaces_open")]).toEqual([
        1 + made,
        before + made,
      ]);
    }
    await eventually("time passes", async () => (await of()).value("governd_seal_lag_seconds") > 0);
  });

  test("sizes, memory and moments", async () => {
    await workspace.client.post("/v1/data/search", { agent_id: "a", query: "plain" });
    const seen = await scrape();
    for (const kind of ["workspaces", "seals"]) {
      expect(seen.value(`governd_storage_bytes{kind="${kind}"}`)).toBeGreaterThan(0);
    }
    expect(seen.value("governd_storage_free_bytes")).toBeGreaterThan(0);
    expect(seen.value("governd_storage_capacity_bytes")).toBeGreaterThan(seen.value("governd_storage_free_bytes"));
    expect(seen.value("governd_search_index_bytes")).toBeGreaterThan(0);
    expect(seen.value("governd_workspaces")).toBe(1);
    // Some seconds after the start the log of the installation is looked at, and then open, too.
    expect([1, 2]).toContain(seen.value("governd_workspaces_open"));
    expect(seen.value("governd_workspaces_down")).toBe(0);
    expect(seen.value('governd_certificate_expiry_timestamp_seconds{certificate="server"}')).toBeGreaterThan(
      Date.now() / 1_000,
    );
    expect(seen.value("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(seen.value("process_start_time_seconds")).toBeWithin(
      Date.now() / 1_000 - process.uptime() - 1,
      Date.now() / 1_000,
    );
  });
});

describe("the listener", () => {
  const at = (path: string, method = "GET") => fetch(new URL(path, daemon.metricsUrl as string), { method });

  test("answers probes, and takes nothing else", async () => {
    expect(await (await at("/healthz")).json()).toEqual({ status: "ok" });
    expect(await (await at("/readyz")).json()).toEqual({
      status: "ready",
      checks: { storage: "ok", installation: "ok", migrations: "ok", threads: "ok" },
      workspaces_down: [],
    });
    expect((await at("/metrics")).headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    for (const path of ["/", "/v1/config/a", "/account/session", "/metrics/"]) {
      expect((await at(path)).status, path).toBe(404);
    }
    for (const method of ["POST", "PUT", "DELETE"]) {
      const refused = await at("/metrics", method);
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
    const nobody = await fetch(daemon.metricsUrl as string, { headers: { host: "two words" } });
    expect(nobody.status).toBe(400);
  });

  test("is not there unless it is asked for, and the API serves no metrics", async () => {
    await using other = await TestDaemon.start();
    expect(other.metricsUrl).toBeNull();
    const client = (await other.workspace()).client;
    expect((await client.get("/metrics")).status).toBe(404);
  });

  test("says which setting names an address that is taken", async () => {
    const taken = new URL(daemon.metricsUrl as string).host;
    await expect(TestDaemon.start({ flags: { metrics_listen: taken } })).rejects.toThrow("--metrics-listen");
  });
});

describe("the documents", () => {
  test("the dashboard asks for metrics that there are", async () => {
    const dashboard = JSON.parse(readFileSync(join(DOCS, "grafana-dashboard.json"), "utf8")) as {
      panels: { id: number; title: string; targets?: { expr: string }[] }[];
    };
    const expressions = dashboard.panels.flatMap(({ targets }) => targets?.map(({ expr }) => expr) ?? []);
    expect(expressions.length).toBeGreaterThan(30);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const seen = await scrape();
    expect(expressions.flatMap((expr) => seen.missing(expr))).toEqual([]);
  });

  test("the alerts ask for metrics that there are, and say what to do", async () => {
    const rules = rulesOf(Bun.YAML.parse(readFileSync(join(DOCS, "prometheus-alerts.yml"), "utf8")));
    expect(rules.length).toBeGreaterThan(10);
    const seen = await scrape();
    expect(rules.flatMap(({ expr }) => seen.missing(expr))).toEqual([]);
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.summary.length, alert).toBeGreaterThan(10);
      expect(annotations.action.length, alert).toBeGreaterThan(10);
      expect(["page", "ticket"], alert).toContain(labels.severity);
    }
  });

  test("the operator's page names every alert", () => {
    const page = readFileSync(join(DOCS, "monitoring.md"), "utf8");
    const rules = rulesOf(Bun.YAML.parse(readFileSync(join(DOCS, "prometheus-alerts.yml"), "utf8")));
    expect(rules.map(({ alert }) => alert).filter((alert) => !page.includes(alert))).toEqual([]);
  });

  const promtool = Bun.which("promtool");
  test.skipIf(promtool === null)("Prometheus's own tool accepts rules and metrics", async () => {
    using directory = temporaryDirectory();
    const metrics = directory.join("metrics");
    writeFileSync(metrics, (await scrape()).text);
    const check = (what: string, stdin: "ignore" | Blob, ...rest: string[]) =>
      Bun.spawnSync([promtool as string, "check", what, ...rest], {
        stdin: stdin === "ignore" ? "ignore" : Bun.file(metrics),
      }).exitCode;
    expect(check("rules", "ignore", join(DOCS, "prometheus-alerts.yml"))).toBe(0);
    expect(check("metrics", Bun.file(metrics))).toBe(0);
  });
});

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}

function rulesOf(document: unknown): Rule[] {
  return (document as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);
}
