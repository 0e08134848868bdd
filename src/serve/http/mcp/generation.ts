/**
 * The two generations of MCP on one endpoint. Since 2026-07-28 every request states its version, client and
 * capabilities in `_meta`, and repeats some of it in headers. In older versions `initialize` began a session; governd
 * keeps no state for it.
 */

import { hasControlCharacter } from "../../../api/fields.ts";
import { isSession } from "../../../details.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { VERSION } from "../../../version.ts";
import { sessionIn } from "../pipeline/session-header.ts";
import { traceOf } from "../pipeline/trace-context.ts";
import { type Message, RPC, RpcError } from "./message.ts";

/** The version without sessions. */
const STATELESS = "2026-07-28";

/** The versions with `initialize`, newest first. */
const WITH_HANDSHAKE = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

/** Every version that is served. */
export const VERSIONS: readonly string[] = [STATELESS, ...WITH_HANDSHAKE];

const META = "io.modelcontextprotocol/";
const VERSION_KEY = `${META}protocolVersion`;
const CAPABILITIES_KEY = `${META}clientCapabilities`;
const CLIENT_KEY = `${META}clientInfo`;
const SESSION_KEY = "io.governd/session";

/** The header of the session that `initialize` began. */
export const SESSION_HEADER = "Mcp-Session-Id";

/** The most characters of a client's name in the audit trail. */
const MAX_CLIENT_LENGTH = 64;

/** A request's statements about its client. */
export interface Caller {
  /** Whether it is of the generation without `initialize`. */
  stateless: boolean;
  /** The name and version of the program. */
  client: string | null;
  /** The valid `traceparent` in `_meta`. */
  trace: string | null;
  /** The session in `_meta`, or else in {@link SESSION_HEADER}. */
  session: string | null;
  /** Whether the client can ask a person to fill in a form. */
  elicits: boolean;
}

/** The name and version of this program for clients. */
export const SERVER_INFO = JSON.stringify({ name: "governd", version: VERSION });

const IN_EVERY_RESULT = `"_meta":{"${META}serverInfo":${SERVER_INFO}}`;

/**
 * Returns a result as JSON, with the members that its generation adds.
 * @param members the result's own, as JSON without the braces
 * @param freshMs how long a client may cache the result; absent when it may not
 */
export function resultOf({ stateless }: Caller, members: string, freshMs?: number): string {
  if (!stateless) return `{${members}}`;
  const fresh = freshMs === undefined ? "" : `,"ttlMs":${freshMs},"cacheScope":"private"`;
  return `{"resultType":"complete",${members},${IN_EVERY_RESULT}${fresh}}`;
}

/** Returns the version on which `initialize` agrees: the requested one if it is supported, otherwise the newest. */
export const agreedVersion = (asked: JsonValue | undefined): string =>
  WITH_HANDSHAKE.find((version) => version === asked) ?? WITH_HANDSHAKE[0];

/**
 * Returns a request's statements about its client.
 * @throws {RpcError} 400 for a version that is not served, and when `_meta` or the headers do not have the form of the
 * version
 * @throws {Problem} for a header whose session has another form
 */
export function callerOf(message: Message, headers: Headers): Caller {
  const meta = isJsonObject(message.params._meta) ? message.params._meta : {};
  const version = headers.get("mcp-protocol-version");
  const trace = typeof meta.traceparent === "string" ? traceOf(meta.traceparent) : null;
  const session = sessionOf(meta, headers);
  if (!(VERSION_KEY in meta)) {
    checkHandshakeVersion(message, version);
    return { stateless: false, client: null, trace, session, elicits: false };
  }
  const { capabilities, client } = readMeta(meta);
  checkVersion(meta[VERSION_KEY] as string, version);
  checkHeaders(message, headers);
  return { stateless: true, client, trace, session, elicits: fillsInForms(capabilities) };
}

function sessionOf({ [SESSION_KEY]: session }: JsonObject, headers: Headers): string | null {
  if (session === undefined) return sessionIn(headers, SESSION_HEADER);
  if (isSession(session)) return session as string;
  throw invalidMeta(`${SESSION_KEY} must be 1 to 128 visible ASCII characters, without spaces.`);
}

/** Checks the version of a request without `_meta`: the one in the header, or 2025-03-26 without the header. */
function checkHandshakeVersion({ method }: Message, version: string | null): void {
  if (version === STATELESS) {
    if (method === "initialize") throw headerMismatch(`Version ${STATELESS} has no initialize.`);
    throw invalidMeta(`Version ${STATELESS} needs ${VERSION_KEY} and ${CAPABILITIES_KEY} in _meta of every request.`);
  }
  if (version !== null && !VERSIONS.includes(version) && method !== "initialize") throw unsupported(version);
}

function readMeta(meta: JsonObject): { capabilities: JsonObject; client: string | null } {
  const { [VERSION_KEY]: version, [CAPABILITIES_KEY]: capabilities, [CLIENT_KEY]: client } = meta;
  if (typeof version !== "string") throw invalidMeta(`${VERSION_KEY} must be a string.`);
  if (!isJsonObject(capabilities)) throw invalidMeta(`${CAPABILITIES_KEY} must be an object.`);
  if (client === undefined) return { capabilities, client: null };
  if (!isJsonObject(client) || typeof client.name !== "string" || typeof client.version !== "string") {
    throw invalidMeta(`${CLIENT_KEY} must have a name and a version.`);
  }
  return { capabilities, client: shortened(`${client.name}/${client.version}`) };
}

/** Returns the text of a client as one short line, for the audit trail. */
function shortened(client: string): string {
  const line = hasControlCharacter(client) ? client.replace(/\p{Cc}/gu, " ") : client;
  return line.length <= MAX_CLIENT_LENGTH ? line : [...line].slice(0, MAX_CLIENT_LENGTH).join("");
}

function checkVersion(version: string, header: string | null): void {
  if (header === null) throw headerMismatch("The header MCP-Protocol-Version is missing.");
  if (header !== version) throw headerMismatch(`MCP-Protocol-Version and ${VERSION_KEY} differ.`);
  if (version !== STATELESS) throw unsupported(version);
}

/** The member of the parameters that `Mcp-Name` repeats, by method. */
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

function checkHeaders({ method, params }: Message, headers: Headers): void {
  const sentMethod = headers.get("mcp-method");
  if (sentMethod === null) throw headerMismatch("The header Mcp-Method is missing.");
  if (sentMethod !== method) throw headerMismatch("Mcp-Method and the method differ.");
  const member = NAMED[method];
  const name = member === undefined ? undefined : params[member];
  if (name === undefined) return;
  const sentName = headers.get("mcp-name");
  if (sentName === null) throw headerMismatch("The header Mcp-Name is missing.");
  if (decoded(sentName) !== name) throw headerMismatch(`Mcp-Name and params.${member} differ.`);
}

const BASE64_VALUE = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Returns the value of a header, which is in Base64 when it has characters that a header cannot have. */
function decoded(header: string): string {
  const [, base64] = BASE64_VALUE.exec(header) ?? [];
  return base64 === undefined ? header : Buffer.from(base64, "base64").toString("utf8");
}

/** Reports whether a client supports elicitation by forms, which is the default without any mode. */
function fillsInForms({ elicitation }: JsonObject): boolean {
  return isJsonObject(elicitation) && (elicitation.form !== undefined || elicitation.url === undefined);
}

const headerMismatch = (message: string) => new RpcError(RPC.header, message, 400);
const invalidMeta = (message: string) => new RpcError(RPC.params, message, 400);

const unsupported = (requested: string) =>
  new RpcError(RPC.version, "This protocol version is not served.", 400, {
    supported: [...VERSIONS],
    requested: requested.slice(0, MAX_CLIENT_LENGTH),
  });
