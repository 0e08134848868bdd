import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../src/settings/definitions.ts";
import { DEFINITIONS, flagOf, variableOf } from "../../src/settings/definitions.ts";
import { resolveSettings, type Sources, settingsAsToml, showSettings } from "../../src/settings/resolve.ts";

const world = { cwd: "/home/op", cores: 4 };

function spoken(parts: Partial<Sources> & { toml?: string } = {}): Sources {
  const { toml, ...rest } = parts;
  const file = toml === undefined ? null : { path: "/etc/governd/governd.toml", directory: "/etc/governd", text: toml };
  return { flags: {}, environment: {}, file, world, ...rest };
}

function settingsOf(parts: Parameters<typeof spoken>[0]): Settings {
  const resolution = resolveSettings(spoken(parts));
  if (!resolution.ok) throw new Error(resolution.mistakes.join("\n"));
  return resolution.settings;
}

function mistakesOf(parts: Parameters<typeof spoken>[0]): readonly string[] {
  const resolution = resolveSettings(spoken(parts));
  return resolution.ok ? [] : resolution.mistakes;
}

describe("settings", () => {
  test("defaults are the documented ones", () => {
    expect(settingsOf({})).toEqual({
      data_dir: "/home/op/governd-data",
      listen: { host: "127.0.0.1", port: 8443 },
      tls: "auto",
      tls_cert: null,
      tls_key: null,
      client_ca: null,
      trusted_proxies: [],
      hostnames: [],
      signup: "invite",
      oidc_issuer: null,
      oidc_client_id: null,
      oidc_client_secret_file: null,
      oidc_ca_file: null,
      oidc_scopes: ["openid", "profile", "email"],
      oidc_groups_claim: "groups",
      oidc_role_map: [],
      oidc_require_group: null,
      oidc_default_role: "none",
      oidc_only: false,
      workload: [],
      seal_interval: 10_000,
      heads_interval: 3_600_000,
      state_roots: "daily",
      seal_key: null,
      seal_key_lifetime: null,
      encryption_key_file: null,
      anchor_command: null,
      anchor_url: null,
      witnesses: [],
      timestamp_url: null,
      sink_allow: [],
      sink_directory: null,
      sink_hold_days: 30,
      tlog_public: [],
      rate_limit: 0,
      auth_failure_limit: 6_000,
      address_rate_limit: 5_000,
      max_connections: 10_000,
      address_connections: 1_000,
      idle_timeout: 60_000,
      request_timeout: 120_000,
      max_body: 4 * 1024 * 1024,
      quota_entries: 0,
      quota_bytes: 0,
      quota_answers: 1024 ** 3,
      search_memory: 256 * 1024 * 1024,
      embeddings_url: null,
      embeddings_model: null,
      embeddings_api_key_file: null,
      embeddings_path: null,
      threads: 3,
      log_level: "info",
      log_format: "auto",
      metrics_listen: null,
      engine: "embedded",
      engine_url: null,
      engine_admin_url: null,
      engine_auth_token: null,
      engine_admin_token: null,
      engine_max_namespaces: 100,
      replica_urls: [],
      node_url: null,
      node_listen: { host: "127.0.0.1", port: 0 },
      backup_dir: null,
      backup_every: null,
      compact_every: null,
      backup_keep: 7,
    });
    expect(settingsOf({ world: { cwd: "/", cores: 1 } }).threads).toBe(1);
  });

  test("a flag outranks the environment, that the file, that the default", () => {
    const toml = 'listen = "10.0.0.1:1"\nlog_level = "warn"\nthreads = 7';
    const environment = { GOVERND_LISTEN: "10.0.0.2:2", GOVERND_LOG_LEVEL: "error", HOME: "/root" };
    const flags = { listen: "10.0.0.3:3" };
    const resolution = resolveSettings(spoken({ toml, environment, flags }));
    if (!resolution.ok) throw new Error(resolution.mistakes.join("\n"));
    expect(resolution.settings).toMatchObject({
      listen: { host: "10.0.0.3", port: 3 },
      log_level: "error",
      threads: 7,
    });
    expect(resolution.origins).toMatchObject({
      listen: "--listen",
      log_level: "GOVERND_LOG_LEVEL",
      threads: "/etc/governd/governd.toml",
      tls: "default",
    });
  });

  test("paths are relative to where they were written", () => {
    expect(settingsOf({ flags: { data_dir: "d" } }).data_dir).toBe("/home/op/d");
    expect(settingsOf({ environment: { GOVERND_DATA_DIR: "../d" } }).data_dir).toBe("/home/d");
    expect(settingsOf({ toml: 'data_dir = "d"' }).data_dir).toBe("/etc/governd/d");
    expect(settingsOf({ toml: 'data_dir = "/var/d"' }).data_dir).toBe("/var/d");
  });

  test.each<[string, Partial<Record<keyof Settings, string>>, Partial<Settings>]>([
    ["an IPv6 address", { listen: "[::1]:80" }, { listen: { host: "::1", port: 80 } }],
    ["a host name", { listen: "localhost:0" }, { listen: { host: "localhost", port: 0 } }],
    ["a time", { seal_interval: "2m" }, { seal_interval: 120_000 }],
    ["a size with a unit", { max_body: "512KiB" }, { max_body: 512 * 1024 }],
    ["a size in bytes", { max_body: "100000" }, { max_body: 100_000 }],
    [
      "a list",
      { hostnames: "a.example, *.b.example,10.0.0.1,a.example" },
      { hostnames: ["a.example", "*.b.example", "10.0.0.1"] },
    ],
    [
      "names that no registrar sells",
      { hostnames: "agent_memory,_x.b_c.internal,fd00::1,*.c_d.example,NODE-1,xn--bcher-kva.example,1a.b2" },
      {
        hostnames: [
          "agent_memory",
          "_x.b_c.internal",
          "fd00::1",
          "*.c_d.example",
          "NODE-1",
          "xn--bcher-kva.example",
          "1a.b2",
        ],
      },
    ],
    [
      "a listening name with an underscore",
      { listen: "agent_memory:1" },
      { listen: { host: "agent_memory", port: 1 } },
    ],
    ["a receiver with one", { sink_allow: "log_store:514,log_store" }, { sink_allow: ["log_store:514", "log_store"] }],
    ["nothing in a list", { hostnames: "" }, { hostnames: [] }],
    ["off", { metrics_listen: "off" }, { metrics_listen: null }],
    ["metrics", { metrics_listen: "127.0.0.1:9090" }, { metrics_listen: { host: "127.0.0.1", port: 9090 } }],
    ["a proxy", { tls: "off", trusted_proxies: "10.0.0.0/8,::1" }, { trusted_proxies: ["10.0.0.0/8", "::1"] }],
    ["limits", { idle_timeout: "30s", quota_bytes: "5GiB" }, { idle_timeout: 30_000, quota_bytes: 5 * 1024 ** 3 }],
    ["files", { tls: "files", tls_cert: "c.pem", tls_key: "k.pem" }, { tls_cert: "/home/op/c.pem" }],
  ])("understands %s", (_, flags, expected) => {
    expect(settingsOf({ flags })).toMatchObject(expected);
  });

  test.each<[Partial<Record<keyof Settings, string>>, string]>([
    [{ idle_timeout: "1s" }, "must be from 5s to 4m"],
    [{ request_timeout: "2h" }, "must be from 1s to 1h"],
    [{ quota_entries: "-1" }, "must be a whole number"],
    [{ tls: "off", trusted_proxies: "::1", client_ca: "ca.pem" }, "client_ca"],
    [{ listen: "8443" }, "must be host:port"],
    [{ listen: "localhost:65536" }, "must be host:port"],
    [{ listen: "999.1.1.1:80" }, "must be host:port"],
    [{ listen: "::1:80" }, "must be host:port"],
    [{ tls: "on" }, "must be one of auto, files, off"],
    [{ engine: "remote" }, "must be one of embedded, libsql-server"],
    [{ engine: "libsql-server" }, "engine_url: is needed"],
    [{ engine_url: "http://db:8080" }, "engine_url (--engine-url): is only used with engine = libsql-server"],
    [
      { engine: "libsql-server", engine_url: "http://db:8080", engine_admin_url: "http://db:9090" },
      "engine_admin_token: is needed",
    ],
    [{ seal_interval: "10" }, "must be a time with a unit"],
    [{ seal_interval: "0s" }, "must be from 1s to 1d"],
    [{ seal_key_lifetime: "1h" }, "must be from 1d to 3660d"],
    [
      { seal_key_lifetime: "90d", seal_key: "/etc/governd/seal.key" },
      "seal_key_lifetime (--seal-key-lifetime): cannot be used, since seal_key (--seal-key) keeps the key outside",
    ],
    [{ max_body: "1 parsec" }, "must be a size"],
    [{ max_body: "1KiB" }, "must be from 64KiB to 64MiB"],
    [{ search_memory: "1MiB" }, "must be from 16MiB to 1024GiB"],
    [{ embeddings_url: "ftp://models" }, "must be an http or https URL"],
    [{ embeddings_url: "http://u:p@models" }, "without a user name or password"],
    [{ embeddings_url: "http://models" }, "embeddings_model: is needed"],
    [{ embeddings_model: "m" }, "is only used with embeddings_url"],
    [
      { embeddings_url: "http://models", embeddings_model: "m", embeddings_path: "d" },
      "is used in place of embeddings_url",
    ],
    [{ threads: "0" }, "must be from 1 to 256"],
    [{ threads: "1.5" }, "must be a whole number"],
    [{ hostnames: "ok.example,a b" }, "number 2 contains a space"],
    [{ hostnames: "https://a.example" }, "number 1 is a URL"],
    [{ hostnames: "a.example,,a.example:8443" }, "number 3 contains a port"],
    [{ hostnames: "10.0.0.1:8443" }, "contains a port"],
    [{ hostnames: "[::1]" }, "in brackets"],
    [{ hostnames: "a.example/path" }, "contains a path"],
    [{ hostnames: "a.example." }, "ends with a dot"],
    [{ hostnames: "a..example" }, "empty part"],
    [{ hostnames: "*" }, "contains a *"],
    [{ hostnames: "a.*.example" }, "contains a *"],
    [{ hostnames: "bücher.example" }, "outside ASCII"],
    [{ hostnames: "-a.example" }, "hyphen"],
    [{ hostnames: "a-.example" }, "hyphen"],
    [{ hostnames: `${"a".repeat(64)}.example` }, "longer than 63"],
    [{ hostnames: `${"a.".repeat(130)}example` }, "longer than 253"],
    [{ hostnames: "10.0.0.300" }, "ends with a number"],
    [{ hostnames: "a!b" }, "a character other than"],
    [{ hostnames: "fe80::1%eth0" }, "a character other than"],
    [{ listen: "a b:1" }, "must be host:port"],
    [{ tls: "off", trusted_proxies: "10.0.0.0/33" }, "must be IP addresses or networks"],
    [{ data_dir: " " }, "must be a path"],
    [{ tls: "files" }, "is needed, since tls (--tls) is files"],
    [{ tls_cert: "x" }, "is only used with tls = files"],
    [{ tls: "off" }, "name the proxies"],
    [{ trusted_proxies: "::1" }, "is only used with tls = off"],
    [{ metrics_listen: "127.0.0.1:8443" }, "is the address of listen"],
    [{ sink_directory: "governd-data/siem" }, "sink_directory (--sink-directory): must be apart from data_dir"],
    [{ sink_directory: "governd-data" }, "must be apart from data_dir"],
    [{ sink_directory: "/" }, "must be apart from data_dir"],
    [{ sink_allow: "https://siem.example.org" }, "must be hosts, host:port, IP addresses or networks"],
    [{ sink_hold_days: "-1" }, "must be a whole number"],
  ])("refuses %p", (flags, expected) => {
    const mistakes = mistakesOf({ flags });
    expect(mistakes.length).toBeGreaterThan(0);
    expect(mistakes.join("\n")).toContain(expected);
  });

  test("reports every mistake at once, naming where each came from", () => {
    const mistakes = mistakesOf({
      toml: 'threads = "many"\nlog_levle = "info"\nhostnames = ["ok.example", 5]',
      environment: { GOVERND_LISTEN: "nowhere", GOVERND_DATADIR: "/x" },
      flags: { tls: "files", max_body: "huge" },
    });
    expect(mistakes).toEqual([
      "log_levle (/etc/governd/governd.toml): there is no such setting",
      "GOVERND_DATADIR (environment): there is no such setting",
      "listen (GOVERND_LISTEN): must be host:port, for example 127.0.0.1:8443 or [::1]:8443",
      "hostnames (/etc/governd/governd.toml): must be host names or IP addresses, for example governd.example.org",
      "max_body (--max-body): must be a size: bytes, or with a unit (KiB, MiB, GiB), for example 2MiB",
      "threads (/etc/governd/governd.toml): must be a whole number",
      "tls_cert: is needed, since tls (--tls) is files",
      "tls_key: is needed, since tls (--tls) is files",
    ]);
  });

  describe("what others set for services and containers called governd", () => {
    /** What Kubernetes sets for a service with one port (`name`: in capitals), at an address of either family. */
    const service = (name: string, address: string, port: number, protocol: string) => {
      const place = `${protocol}://${address.includes(":") ? `[${address}]` : address}:${port}`;
      const one = `${name}_PORT_${port}_${protocol.toUpperCase()}`;
      return {
        [`${name}_SERVICE_HOST`]: address,
        [`${name}_SERVICE_PORT`]: `${port}`,
        [`${name}_SERVICE_PORT_API_V1`]: `${port}`,
        [`${name}_PORT`]: place,
        [one]: place,
        [`${one}_PROTO`]: protocol,
        [`${one}_PORT`]: `${port}`,
        [`${one}_ADDR`]: address,
      };
    };
    const link = {
      GOVERND_NAME: "/web/governd",
      GOVERND_PORT: "tcp://172.17.0.5:8443",
      GOVERND_PORT_8443_TCP: "tcp://172.17.0.5:8443",
      GOVERND_PORT_8443_TCP_ADDR: "172.17.0.5",
      GOVERND_ENV_PATH: "/usr/bin:/bin",
      GOVERND_ENV_GOVERND_DATA_DIR: "/data",
      GOVERND_DB_1_NAME: "/web/governd_db_1",
      GOVERND_DB_1_ENV_PGDATA: "/pg",
    };
    for (const [what, environment] of Object.entries({
      "a service": service("GOVERND", "10.96.4.2", 8443, "tcp"),
      "a service with more words": service("GOVERND_NODE_2_METRICS", "10.96.4.3", 9000, "udp"),
      "an IPv6 service called like a setting": service("GOVERND_DATA_DIR", "fd00:10:96::a", 443, "sctp"),
      "Docker links": link,
      "the program of anchors": { GOVERND_WORKSPACE_ID: "ws_1", GOVERND_SEAL_SIZE: "7", GOVERND_SEAL_EPOCH: "1" },
    })) {
      test(`${what}: is passed over, and settings beside it count`, () => {
        expect(settingsOf({ environment: { ...environment, GOVERND_THREADS: "3" } })).toMatchObject({ threads: 3 });
        const mistakes = mistakesOf({ environment: { ...environment, GOVERND_LOG_LEVLE: "info" } });
        expect(mistakes).toEqual(["GOVERND_LOG_LEVLE (environment): there is no such setting"]);
      });
    }

    test.each([
      ["GOVERND_PORT", "8443"],
      ["GOVERND_METRICS_PORT", "9090"],
      ["GOVERND_LISTEN_PORT", "0.0.0.0:8443"],
      ["GOVERND_SERVICE_HOST", "governd.example.org"],
      ["GOVERND_SERVICE_PORT", "on"],
      ["GOVERND_PORT_8443_TCP", "yes"],
      ["GOVERND_PORT_8443_TCP_PROTO", "http"],
      ["GOVERND_PORT_8443", "tcp://10.0.0.1:8443"],
      ["GOVERND_HOSTS", "10.0.0.1"],
      ["GOVERND_NAME", "governd.example.org"],
      ["GOVERND_ENV_THREADS", "3"],
      ["GOVERND_SEAL_SIZES", "7"],
    ])("%s=%s is nobody's: a mistake", (name, value) => {
      expect(mistakesOf({ environment: { [name]: value } })).toEqual([
        `${name} (environment): there is no such setting`,
      ]);
    });
  });

  test("embeddings may be a table", () => {
    const toml = 'embeddings = { url = "http://127.0.0.1:1/v1", model = "m", api_key_file = "k" }';
    expect(settingsOf({ toml })).toMatchObject({
      embeddings_url: "http://127.0.0.1:1/v1",
      embeddings_model: "m",
      embeddings_api_key_file: "/etc/governd/k",
    });
    expect(mistakesOf({ toml: "embeddings = { modle = 1 }" })).toEqual([
      "embeddings_modle (/etc/governd/governd.toml): there is no such setting",
    ]);
    const twice = `${toml}\nembeddings_model = "n"`;
    expect(mistakesOf({ toml: twice })).toEqual(["embeddings_model (/etc/governd/governd.toml): is given twice"]);
  });

  test("a file that is no TOML is reported by its place, without its text", () => {
    const [mistake] = mistakesOf({ toml: 'threads = 2\nlisten = "hunter2' });
    expect(mistake).toStartWith("/etc/governd/governd.toml line 2");
    expect(mistake).not.toContain("hunter2");
  });

  test("what is shown can be read back and means the same", () => {
    const flags = { hostnames: "a.example", max_body: "3MiB", seal_interval: "90s", metrics_listen: "[::1]:9" };
    const resolution = resolveSettings(spoken({ flags }));
    if (!resolution.ok) throw new Error(resolution.mistakes.join("\n"));
    const toml = settingsAsToml(showSettings(resolution.settings, resolution.origins));
    expect(settingsOf({ toml })).toEqual(resolution.settings);
  });

  test("the page of settings has every setting, with an asterisk where it needs a new start", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/settings.md"), "utf8");
    const cells = page.split("\n").flatMap((line) => (line.startsWith("| `") ? [line.split("|")[1] ?? ""] : []));
    const named = (some: readonly string[]) => some.flatMap((cell) => cell.match(/[a-z_]+/g) ?? []).toSorted();
    const names = (some: typeof DEFINITIONS) => some.map(({ name }) => name).toSorted();
    expect(named(cells)).toEqual(names(DEFINITIONS));
    expect(named(cells.filter((cell) => cell.includes("*")))).toEqual(names(DEFINITIONS.filter(({ fixed }) => fixed)));
  });

  test("every setting has a flag, a variable and a line of help", () => {
    for (const { name, help } of DEFINITIONS) {
      expect(flagOf(name)).toMatch(/^--[a-z-]+$/);
      expect(variableOf(name)).toMatch(/^GOVERND_[A-Z_]+$/);
      expect(help.length).toBeGreaterThan(10);
    }
  });
});
