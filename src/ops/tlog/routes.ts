/** The HTTP routes of the log as tiles (C2SP tlog-tiles): with a key, and without one below a workspace's id. */
import { Type as t } from "@sinclair/typebox";
import { route } from "../../api/route.ts";
import { checkWorkspaceWide } from "../../api/scopes.ts";
import type { Principal } from "../../core/writer/contract.ts";
import { Problem } from "../../problem.ts";
import { Seal } from "../audit/schema.ts";
import { parseBundlePath, parseTilePath } from "./paths.ts";

const NO_TILE =
  "There is no such tile. Its number is written in groups of three digits, all but the last after an x, such as x001/x234/067; a partial tile ends in .p/ and its width.";

/** Returns the parsed path. @throws {Problem} when the path is not valid */
function existing<T>(named: T | null): T {
  if (named === null) throw new Problem("not_found", NO_TILE);
  return named;
}

/** Returns the input of a request below a workspace's id, which must be that of its key. @throws {Problem} */
function ofWorkspace<P, I>(input: (params: P) => I) {
  return ({ params, principal }: { params: P & { workspace_id: string }; principal: Principal }): I => {
    if (principal.workspaceId === params.workspace_id) return input(params);
    throw new Problem("not_found", "There is no such log for this key.");
  };
}

const tile = (params: { level: string; "*": string }) => existing(parseTilePath(params.level, params["*"]));

const CHECKPOINT = {
  description: "A signed note: the log's origin, its number of events, and the root of its tree.",
  schema: Seal,
  mediaType: "text/plain",
} as const;

const bytes = (description: string) =>
  ({
    description,
    schema: t.String({ format: "binary", examples: ["(bytes)"] }),
    mediaType: "application/octet-stream",
  }) as const;
const HASHES = bytes("1 to 256 hashes of 32 bytes.");
const ENTRIES = bytes("1 to 256 events: each its length in two bytes, big-endian, and its canonical bytes.");

const PUBLIC = "With the setting `tlog_public`, it needs no key.";

export const tlogRoutes = [
  route({
    operation: "tlog.checkpoint",
    at: "GET /v1/tlog/checkpoint",
    input: () => ({}),
    summary: "Get the checkpoint of the log",
    description: "The newest seal, where clients of C2SP tlog-tiles expect it.",
    response: CHECKPOINT,
    problems: ["seal_not_found"],
  }),
  route({
    operation: "tlog.entries",
    at: "GET /v1/tlog/tile/entries/*",
    unfindable: "not_found",
    input: ({ params, principal }) => {
      checkWorkspaceWide(principal);
      return existing(parseBundlePath(params["*"]));
    },
    summary: "Get a bundle of events",
    description:
      "The canonical bytes of the events of one tile of level 0, as C2SP tlog-tiles bundles them. Details are not among them. The response never changes.",
    response: ENTRIES,
  }),
  route({
    operation: "tlog.tile",
    at: "GET /v1/tlog/tile/:level/*",
    unfindable: "not_found",
    input: ({ params }) => tile(params),
    summary: "Get a tile of hashes",
    description: "One tile of the log's tree after C2SP tlog-tiles. The response never changes.",
    response: HASHES,
  }),
];

/** The routes of a public log, which need no key. */
export const publicTlogRoutes = [
  route({
    operation: "tlog.checkpoint",
    at: "GET /v1/tlog/:workspace_id/checkpoint",
    unfindable: "not_found",
    input: ofWorkspace(() => ({})),
    summary: "Get the checkpoint of a public log",
    description: `The newest seal of a workspace. ${PUBLIC}`,
    response: CHECKPOINT,
    problems: ["seal_not_found"],
  }),
  route({
    operation: "tlog.tile",
    at: "GET /v1/tlog/:workspace_id/tile/:level/*",
    unfindable: "not_found",
    input: ofWorkspace(tile),
    summary: "Get a tile of hashes of a public log",
    description: `One tile of the tree of a workspace's log. ${PUBLIC} Events are not public.`,
    response: HASHES,
  }),
];
