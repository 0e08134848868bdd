/** The rules of workload identity, as an operator writes them. */
import { describe, expect, test } from "bun:test";
import { resolveSettings, settingsAsToml, showSettings } from "../../src/settings/resolve.ts";

const WORKSPACE = "ws_01h455vb4pex5vsknk084sn02q";

const RULE = `[[workload]]
issuer = "https://token.ci.example.org"
audience = "governd"
ca_file = "ci.crt"
workspace = "${WORKSPACE}"
scope = "agent"
agents = ["ci"]
claims = { sub = "repo:acme/*", "kubernetes.io" = { namespace = ["a", "b"] } }
`;

const resolve = (text: string, environment: Record<string, string> = {}) =>
  resolveSettings({
    flags: {},
    environment,
    file: { path: "/etc/governd.toml", directory: "/etc", text },
    world: { cwd: "/", cores: 2 },
  });

const READ = {
  issuer: "https://token.ci.example.org",
  audience: "governd",
  caFile: "/etc/ci.crt",
  workspaceId: WORKSPACE,
  scope: "agent",
  agents: ["ci"],
  claims: { sub: "repo:acme/*", "kubernetes.io": { namespace: ["a", "b"] } },
} as const;

test("are tables of the settings file, in their order", () => {
  const second = RULE.replace('"agent"', '"full"').replace('agents = ["ci"]\n', "").replace('ca_file = "ci.crt"\n', "");
  const other = second.replace("token.ci", "token.other");
  const found = resolve(RULE + other);
  if (!found.ok) throw new Error(found.mistakes.join("\n"));
  expect(found.settings.workload).toEqual([
    { ...READ, agents: ["ci"] },
    { ...READ, issuer: "https://token.other.example.org", scope: "full", agents: null, caFile: null },
  ] as never);
});

test("are the same when they are read as they are shown, and in a variable", () => {
  const found = resolve(RULE);
  if (!found.ok) throw new Error(found.mistakes.join("\n"));
  const shown = settingsAsToml(showSettings(found.settings, found.origins));
  const line = shown.split("\n").find((one) => one.startsWith("workload")) as string;
  for (const again of [resolve(line), resolve("", { GOVERND_WORKLOAD: JSON.stringify([JSON.parse(listed(line))]) })]) {
    if (!again.ok) throw new Error(again.mistakes.join("\n"));
    expect(again.settings.workload).toEqual([READ] as never);
  }
});

/** The one text in the list of a line. */
const listed = (line: string): string =>
  JSON.parse((line.match(/= (\[.*\])/) as RegExpMatchArray)[1] as string)[0] as string;

describe("a mistake is named:", () => {
  const cases: [string, string, RegExp][] = [
    ["no table", "workload = 7", /must be a list of rules/],
    ["no JSON", 'workload = ["{"]', /must be JSON/],
    ["an unknown member", RULE.replace("ca_file", "ca"), /rule 1: there is no member but issuer/],
    ["a missing member", RULE.replace('audience = "governd"\n', ""), /rule 1: audience is needed/],
    ["an issuer without TLS", RULE.replace("https", "http"), /rule 1: issuer must be an https address/],
    ["no workspace", RULE.replace(WORKSPACE, "ws_1"), /rule 1: workspace must be/],
    ["an unknown scope", RULE.replace('"agent"', '"owner"'), /rule 1: scope must be one of full, agent, auditor/],
    ["no agent", RULE.replace('["ci"]', "[]"), /rule 1: agents must be/],
    ["an agent that cannot be", RULE.replace('["ci"]', '["a b"]'), /rule 1: agents must be/],
    ["no claim", RULE.replace(/claims = .*/, "claims = {}"), /rule 1: claims must say which tokens fit/],
    ["a number as a pattern", RULE.replace(/claims = .*/, "claims = { sub = 7 }"), /rule 1: claims must say/],
    ["two authorities", RULE + RULE.replace("ci.crt", "other.crt"), /the same ca_file in all rules of one issuer/],
    [
      "two authorities of an issuer that is written in two ways",
      RULE + RULE.replace("ci.crt", "other.crt").replace('ci.example.org"', 'ci.example.org/"'),
      /the same ca_file in all rules of one issuer/,
    ],
    [
      "the audience of people, whose issuer is written in another way",
      `[oidc]\nissuer = "https://token.ci.example.org/"\nclient_id = "governd"\n${RULE}`,
      /needs an audience other than oidc_client_id/,
    ],
    [
      "the audience of people",
      `[oidc]\nissuer = "https://token.ci.example.org"\nclient_id = "governd"\n${RULE}`,
      /needs an audience other than oidc_client_id/,
    ],
  ];
  test.each(cases)("%s", (_name, text, mistake) => {
    const found = resolve(text);
    expect(found.ok ? [] : found.mistakes).toEqual([expect.stringMatching(mistake)]);
  });
});
