/** Versions of entries: entity tags, and requests that depend on the version of an entry. */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { TestDaemon, type TestWorkspace } from "../support/daemon.ts";
import { type Scenario, type Scene, scenarios } from "../support/scenario.ts";

let daemon: TestDaemon;
let workspace: TestWorkspace;

beforeAll(async () => {
  daemon = await TestDaemon.start({ confided: true });
  workspace = await daemon.workspace();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const EMAIL = "jane.roe@acme.io";
const NO_VERSION = `aud_${"0".repeat(26)}`;

const version = ({ made }: Scene): string => made as string;
/** Writes the entry k, and leaves its version. */
const entry = async ({ client, agent }: Scene) => (await client.write(agent, "k", "v")).json.audit_id;
const blocking = async (scene: Scene) => {
  await scene.client.configure(scene.agent, { policies: { block_pii: true } });
  return entry(scene);
};

/** A write, whose body and headers may depend on the version. */
const write =
  (rest: (scene: Scene) => object, headers: (scene: Scene) => Record<string, string> = () => ({})) =>
  (scene: Scene) => ({
    path: "/v1/data/write",
    body: { agent_id: scene.agent, key: "k", value: "w", ...rest(scene) },
    headers: headers(scene),
  });
const remove =
  (query: (scene: Scene) => Record<string, string>, headers: (scene: Scene) => Record<string, string> = () => ({})) =>
  (scene: Scene) => ({
    method: "DELETE",
    path: "/v1/data",
    query: { agent_id: scene.agent, key: "k", ...query(scene) },
    headers: headers(scene),
  });
const nothing = () => ({});
const nobody = async () => null;

/** The details of an event about an agent that never began. */
const unknown = ({ agent }: Scene) => ({ agent_id: agent, key: "k", code: "version_conflict" });

type Request = Scenario["request"];

const written = (name: string, request: Request, given: Scenario["given"] = entry): Scenario => ({
  name,
  given,
  request,
  status: 200,
  appends: ["agent data.write allowed"],
  changes: given === entry ? ["entries"] : ["agents", "entries"],
  check: ({ workspace: { view } }, { json, headers }) => {
    expect(json.audit_id).toBe(view.eventsAfter(-1).at(-1)?.id as string);
    expect(headers.get("etag")).toBe(`"${json.audit_id}"`);
  },
});

/** A request whose condition does not hold: `current` is the version that it is told. */
const refused = (
  name: string,
  request: Request,
  {
    given = entry,
    appends = ["agent data.write conflict"],
    current = version,
    details = { key: "k", code: "version_conflict" },
  }: Partial<Scenario> & { current?: (scene: Scene) => string | null } = {},
): Scenario => ({
  name,
  given,
  request,
  status: 412,
  code: "version_conflict",
  appends,
  details,
  body: (scene) => ({ current_version: current(scene) }),
  check: (_scene, { text, headers }) => {
    expect(text).not.toContain("findings");
    expect(headers.get("etag")).toBeNull();
  },
});

describe("writing", () => {
  scenarios(
    () => workspace,
    [
      written("without a condition", write(nothing)),
      written(
        "If-Match with the version",
        write(nothing, (scene) => ({ "if-match": `"x", "${version(scene)}"` })),
      ),
      written(
        "If-Match: *",
        write(nothing, () => ({ "if-match": "*" })),
      ),
      written(
        "if_version",
        write((scene) => ({ if_version: version(scene) })),
      ),
      written(
        "If-None-Match: *",
        write(nothing, () => ({ "if-none-match": "*" })),
        nobody,
      ),
      written(
        "if_version: null",
        write(() => ({ if_version: null })),
        nobody,
      ),
      refused(
        "If-Match with another version",
        write(nothing, () => ({ "if-match": `"${NO_VERSION}"` })),
      ),
      refused(
        "If-Match with the version as a weak tag",
        write(nothing, (scene) => ({ "if-match": `W/"${version(scene)}"` })),
      ),
      refused(
        "another if_version",
        write(() => ({ if_version: NO_VERSION })),
      ),
      refused(
        "if_version: null where there is one",
        write(() => ({ if_version: null })),
      ),
      refused(
        "If-None-Match: * where there is one",
        write(nothing, () => ({ "if-none-match": "*" })),
      ),
      refused(
        "If-Match: * of an agent that never began",
        write(nothing, () => ({ "if-match": "*" })),
        { given: nobody, appends: ["- data.write conflict"], details: unknown, current: () => null },
      ),
      refused(
        "a conflict says nothing of what a policy would find",
        write(() => ({ if_version: null, value: EMAIL })),
        { given: blocking },
      ),
      refused(
        "nor of a value that is screened by another thread",
        write(() => ({ if_version: NO_VERSION, value: `${"x ".repeat(8_192)} ${EMAIL}` })),
        { given: blocking },
      ),
      {
        name: "the version of a deleted entry is gone",
        given: async (scene) => {
          const made = await entry(scene);
          await scene.client.delete("/v1/data", { agent_id: scene.agent, key: "k" });
          return made;
        },
        request: write((scene) => ({ if_version: version(scene) })),
        status: 412,
        code: "version_conflict",
        appends: ["agent data.write conflict"],
        body: { current_version: null },
      },
      {
        name: "a blocked write has no tag, and the entry keeps its version",
        given: blocking,
        request: write((scene) => ({ if_version: version(scene), value: EMAIL })),
        status: 200,
        appends: ["agent data.write blocked"],
        body: { allowed: false },
        check: async (scene, { headers }) => {
          expect(headers.get("etag")).toBeNull();
          const { client, agent } = scene;
          expect((await client.read(agent, "k")).headers.get("etag")).toBe(`"${version(scene)}"`);
        },
      },
    ],
  );
});

describe("deleting", () => {
  const deleted = (name: string, request: Request): Scenario => ({
    name,
    given: entry,
    request,
    status: 200,
    appends: ["agent data.delete ok"],
    changes: ["agents", "entries"],
    details: { key: "k" },
  });
  const deleting = { appends: ["agent data.delete conflict"] };
  scenarios(
    () => workspace,
    [
      deleted(
        "If-Match with the version",
        remove(nothing as never, (scene) => ({ "if-match": `"${version(scene)}"` })),
      ),
      deleted(
        "if_version",
        remove((scene) => ({ if_version: version(scene) })),
      ),
      refused(
        "another if_version",
        remove(() => ({ if_version: NO_VERSION })),
        deleting,
      ),
      refused(
        "if_version=null",
        remove(() => ({ if_version: "null" })),
        deleting,
      ),
      refused(
        "of an erasure",
        remove(() => ({ if_version: NO_VERSION, erase: "true" })),
        { appends: ["agent data.erase conflict"], details: { code: "version_conflict" } },
      ),
      refused(
        "of what is not there",
        remove(() => ({ if_version: NO_VERSION })),
        { given: nobody, appends: ["- data.delete conflict"], details: unknown, current: () => null },
      ),
    ],
  );
});

describe("reading", () => {
  for (const [path, operation] of [
    ["/v1/data/read", "data.read"],
    ["/v1/data/read-full", "data.read_full"],
  ] as const) {
    const reading = (name: string, tag: (scene: Scene) => string | null, status: number): Scenario => ({
      name: `${path}: ${name}`,
      given: entry,
      request: (scene) => {
        const etag = tag(scene);
        return {
          path,
          query: { agent_id: scene.agent, key: "k" },
          headers: etag === null ? {} : { "if-none-match": etag },
        };
      },
      status,
      appends: [`agent ${operation} ok`],
      details: { key: "k", ...(status === 200 && { returned: [expect.any(Number)] }) },
      check: (scene, { text, headers }) => {
        expect(headers.get("etag")).toBe(`"${version(scene)}"`);
        expect(text === "").toBe(status === 304);
      },
    });
    scenarios(
      () => workspace,
      [
        reading("has its tag", () => null, 200),
        reading("is not sent again", (scene) => `"${version(scene)}"`, 304),
        reading("is sent when the tag is another", () => `"${NO_VERSION}"`, 200),
      ],
    );
  }

  scenarios(
    () => workspace,
    [
      {
        name: "a list has the version of each entry, also of a restored one",
        given: async (scene) => {
          const { client, agent } = scene;
          const first = await entry(scene);
          const { json } = await client.checkpoint(agent);
          await client.write(agent, "k", "overwritten");
          await client.post(`/v1/checkpoints/${json.id}/restore`, {});
          return first;
        },
        request: ({ agent }) => ({ path: "/v1/data/list", query: { agent_id: agent } }),
        status: 200,
        appends: ["agent data.list ok"],
        body: (scene) => ({ data: [{ key: "k", audit_id: version(scene) }] }),
        check: async (scene) => {
          const { client, agent } = scene;
          const full = await client.get("/v1/data/read-full", { agent_id: agent, key: "k" });
          expect([full.json.audit_id, full.headers.get("etag")]).toEqual([version(scene), `"${version(scene)}"`]);
          const again = await client.send(write(() => ({ if_version: version(scene) }))(scene));
          expect(again.status).toBe(200);
        },
      },
    ],
  );
});

describe("configs", () => {
  const put =
    (headers: Record<string, string>) =>
    ({ agent }: Scene) => ({ method: "PUT", path: `/v1/config/${agent}`, body: {}, headers });
  scenarios(
    () => workspace,
    [
      {
        name: "If-None-Match: * makes the first version",
        request: put({ "if-none-match": "*" }),
        status: 200,
        appends: ["agent config.update ok"],
        changes: ["agents", "configs"],
        body: { version: "v1" },
      },
      {
        name: "and no second one",
        given: ({ client, agent }) => client.configure(agent, {}),
        request: put({ "if-none-match": "*" }),
        status: 412,
        code: "version_conflict",
        appends: ["agent config.update conflict"],
        body: { current_version: "v1" },
      },
      {
        name: "nor goes back to one",
        given: ({ client, agent }) => client.configure(agent, {}),
        request: ({ agent }) => ({
          path: `/v1/config/${agent}/rollback`,
          body: { version: "v1" },
          headers: { "if-none-match": "*" },
        }),
        status: 412,
        code: "version_conflict",
        appends: ["agent config.rollback conflict"],
        body: { current_version: "v1" },
      },
    ],
  );
});
