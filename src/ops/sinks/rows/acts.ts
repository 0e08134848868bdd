/** Creates, changes and removes sinks, for the API and the command line. Each change is an act: it is recorded. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { expectedUrl, receiverAddress } from "../../../follow/sinks/addresses.ts";
import { AllowedPlaces } from "../../../follow/sinks/allowed.ts";
import { newSigningKey, rotated, SECRET_BYTES, type SigningKey, shownKeys } from "../../../follow/sinks/signature.ts";
import { type RandomPool, showTime } from "../../../ids.ts";
import type { JsonObject } from "../../../json.ts";
import { columnsDigest } from "../../../log/control-effects.ts";
import { invalid, Problem } from "../../../problem.ts";
import type { SinkCredentials, SinkPlaces, SinkRequest, SinkSettings } from "../../../sink.ts";
import { type ActParts, act, type Decision } from "../../directory/acts.ts";
import type { Change } from "../../directory/changes.ts";
import { KeyUnusable } from "../../directory/secret-key.ts";
import { findInstallation } from "../../directory/workspaces.ts";
import { findSink, listSinks, type SinkKey, type SinkRecord } from "./sinks.ts";

/** The most sinks of a workspace. */
const MAX_SINKS = 20;
/** How long an old key still signs after a rotation, ms. */
const ROTATION_MS = 24 * 60 * 60_000;

export interface SinkActParts extends ActParts {
  random: RandomPool;
  key: SinkKey;
  /** The receivers that the settings allow. */
  places: SinkPlaces;
}

/** The actor and the workspace of an act. */
interface SinkActor {
  actor: string;
  workspaceId: string;
}

/** The result of an act. `keys`: the keys with which the receiver checks signatures, which are shown only now. */
export interface SinkDone {
  sink: SinkRecord;
  keys?: ReturnType<typeof shownKeys>;
}

type SinkAsked = Partial<SinkSettings & SinkCredentials>;

/** Creates a sink. @throws {Problem} when its settings are not valid or not allowed */
export async function createSink(parts: SinkActParts, { actor, workspaceId }: SinkActor, request: SinkRequest) {
  const { control, clock, ids, random, key } = parts;
  const { clientKey, token, ...others } = request;
  refuseBadSettings(request, parts.places);
  return await act(parts, workspaceId, () => {
    refuseSharedFile(parts, null, request);
    if (listSinks(control.connection, workspaceId).length >= MAX_SINKS) {
      throw invalid(`A workspace has at most ${MAX_SINKS} sinks. Remove one that is not needed.`);
    }
    const id = ids.next("snk");
    const signing = request.type === "webhook" ? [newSigningKey(random.take(SECRET_BYTES))] : [];
    const progress = { position: null, deliveredAt: null, lastError: null };
    const sink: SinkRecord = {
      id,
      workspaceId,
      ...others,
      ...progress,
      secrets: usable(() => key.encrypt(control.connection, id, { clientKey, token, signing })),
      createdAt: clock(),
      createdBy: actor,
    };
    const { createdAt, start } = sink;
    const made = { type: request.type, start, created_at: showTime(createdAt), settings_digest: settingsDigest(sink) };
    const details = { sink_id: id, ...made, ...settingDetails(sink, Object.keys(sink)) };
    const change: Change = ["addSink", sink];
    return decision(parts, "sink.create", actor, workspaceId, details, [change], done(sink, signing));
  });
}

/** Changes a sink. Records nothing when nothing changes. @throws {Problem} `sink_not_found`, … */
export async function changeSink(parts: SinkActParts, by: SinkActor, id: string, asked: SinkAsked) {
  const { control, key } = parts;
  return await act(parts, by.workspaceId, () => {
    const sink = requireSink(parts, by, id);
    const { clientKey, token, ...wanted } = asked;
    const secrets = usable(() => key.decrypt(sink));
    const credentials = {
      clientKey: clientKey === undefined ? secrets.clientKey : clientKey,
      token: token === undefined ? secrets.token : token,
    };
    const set = defined(wanted);
    // A sink whose receiver is no longer allowed can still be switched off.
    const begins = set.url !== undefined || set.enabled === true;
    refuseBadSettings({ ...sink, ...set, ...credentials }, begins ? parts.places : null);
    refuseSharedFile(parts, id, { ...sink, ...set });
    const names = Object.keys(set).filter(
      (name) => !isDeepStrictEqual(set[name as keyof typeof set], sink[name as never]),
    );
    const ofSecrets = (["clientKey", "token"] as const).filter((name) => credentials[name] !== secrets[name]);
    if (names.length + ofSecrets.length === 0) return { event: null, result: done(sink) };
    const encrypted =
      ofSecrets.length === 0
        ? {}
        : { secrets: usable(() => key.encrypt(control.connection, id, { ...secrets, ...credentials })) };
    const changed = { ...sink, ...set, ...encrypted };
    const what = { changed: [...names, ...ofSecrets].map(snake), settings_digest: settingsDigest(changed) };
    const details = { sink_id: id, ...what, ...settingDetails(changed, names) };
    const change: Change = ["changeSink", { id, set: { ...set, ...encrypted } }];
    return decision(parts, "sink.change", by.actor, by.workspaceId, details, [change], done(changed));
  });
}

/** Gives a webhook new signing keys. The old keys also sign for a day. @throws {Problem} */
export async function rotateSink(parts: SinkActParts, by: SinkActor, id: string) {
  const { control, clock, key, random } = parts;
  return await act(parts, by.workspaceId, () => {
    const sink = requireSink(parts, by, id);
    if (sink.type !== "webhook") throw invalid("Only the deliveries of webhooks are signed.");
    const now = clock();
    const until = now + ROTATION_MS;
    const secrets = usable(() => key.decrypt(sink));
    const signing = rotated(secrets.signing, newSigningKey(random.take(SECRET_BYTES)), until, now);
    const set = { secrets: usable(() => key.encrypt(control.connection, id, { ...secrets, signing })) };
    const settings_digest = settingsDigest({ ...sink, ...set });
    const details = { sink_id: id, old_keys_until: showTime(until), settings_digest };
    const change: Change = ["changeSink", { id, set }];
    return decision(
      parts,
      "sink.rotate",
      by.actor,
      by.workspaceId,
      details,
      [change],
      done({ ...sink, ...set }, signing),
    );
  });
}

/** Removes a sink, and ends its deliveries. @throws {Problem} `sink_not_found` */
export async function removeSink(parts: SinkActParts, by: SinkActor, id: string) {
  return await act(parts, by.workspaceId, () => {
    const sink = requireSink(parts, by, id);
    const details = { sink_id: id, position: sink.position };
    return decision(parts, "sink.remove", by.actor, by.workspaceId, details, [["removeSink", { id }]], done(sink));
  });
}

/** Records a test of a sink. @throws {Problem} `sink_not_found` */
export async function recordTest(parts: SinkActParts, by: SinkActor, id: string) {
  return await act(parts, by.workspaceId, () => {
    const sink = requireSink(parts, by, id);
    return decision(parts, "sink.test", by.actor, by.workspaceId, { sink_id: id }, [], done(sink));
  });
}

/** Returns a sink of the workspace. @throws {Problem} `sink_not_found` */
export function requireSink(
  { control }: Pick<ActParts, "control">,
  { workspaceId }: { workspaceId: string },
  id: string,
) {
  const sink = findSink(control.connection, id);
  if (sink === undefined || sink.workspaceId !== workspaceId) {
    throw new Problem("sink_not_found", "The workspace has no such sink. GET /v1/sinks lists all.");
  }
  return sink;
}

const done = (sink: SinkRecord, signing: readonly SigningKey[] = []): SinkDone => {
  const [newest] = signing;
  return newest === undefined ? { sink } : { sink, keys: shownKeys(newest) };
};

type SinkEvent = "sink.create" | "sink.change" | "sink.rotate" | "sink.remove" | "sink.test";

/** Returns the decision on an act, whose event is also recorded in the log of the installation, if that log exists. */
function decision(
  { control }: ActParts,
  operation: SinkEvent,
  actor: string,
  workspaceId: string,
  details: JsonObject,
  changes: readonly Change[],
  result: SinkDone,
): Decision<SinkDone> {
  const event = { operation, actor, details };
  if (findInstallation(control.connection) === undefined) return { event, changes, result };
  const trace = { operation, actor, details: { ...details, sink_workspace_id: workspaceId } };
  return { event, trace, changes, result };
}

/** Returns the settings that an event states. Of an address, only the host: the rest may contain a secret. */
function settingDetails(sink: SinkRecord, names: readonly string[]): JsonObject {
  const all: Readonly<Record<string, JsonObject>> = {
    url: { receiver: receiverAddress(sink.type, sink.url)?.name ?? null },
    format: { format: sink.format },
    filter: { filter: sink.filter as JsonObject },
    includeDetails: { include_details: sink.includeDetails },
    enabled: { enabled: sink.enabled },
  };
  return Object.assign({}, ...names.map((name) => all[name] ?? {})) as JsonObject;
}

/** Returns a digest of the settings that no event shows, so that a verifier detects a change of them. */
const settingsDigest = ({ ca, clientCertificate: client_certificate, secrets, url }: SinkRecord): string =>
  columnsDigest({ ca, client_certificate, secrets, url });

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the members that are not undefined. */
const defined = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

function usable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof KeyUnusable)) throw error;
    throw new Problem(
      "unavailable",
      "The server's key for the secrets of sinks is missing or not the right one. The operator can restore keys/sinks.key from a backup.",
    );
  }
}

/** @throws {Problem} when a sink's settings are not valid, or `places` does not allow the receiver; null allows all */
function refuseBadSettings(
  sink: Pick<SinkRequest, "type"> & SinkSettings & SinkCredentials,
  places: SinkPlaces | null,
): void {
  if (receiverAddress(sink.type, sink.url) === null) throw invalid(`"url" must be ${expectedUrl(sink.type)}.`, "url");
  if (places !== null) refuseForbidden(sink, places);
  if (sink.type === "splunk_hec" && sink.token === null) throw invalid('Send the "token" of the collector.', "token");
  if (sink.token !== null && !TOKEN.test(sink.token)) throw invalid('"token" must be visible ASCII.', "token");
  refuseBadCertificates(sink);
}

/** Reports whether the settings allow a sink's receiver, as far as can be decided without resolving its name. */
export function isAllowed({ type, url }: Pick<SinkRequest, "type" | "url">, places: SinkPlaces): boolean {
  const place = receiverAddress(type, url);
  if (place === null) return false;
  const { endpoint } = place;
  if (endpoint === null) return places.directory !== null;
  return new AllowedPlaces(places.allow).mayReach(endpoint.host, endpoint.port);
}

/** @throws {Problem} `forbidden` when the settings do not allow a receiver */
function refuseForbidden(sink: Pick<SinkRequest, "type" | "url">, places: SinkPlaces): void {
  if (isAllowed(sink, places)) return;
  throw new Problem("forbidden", sink.type === "file" ? NO_FILES : NOT_ALLOWED, { param: "url" });
}

/** @throws {Problem} when another sink writes the same file, since their lines would be mixed */
function refuseSharedFile(
  { control }: ActParts,
  id: string | null,
  { type, url }: Pick<SinkRequest, "type" | "url">,
): void {
  if (type !== "file") return;
  const others = listSinks(control.connection).filter((other) => other.type === "file" && other.id !== id);
  // On some systems, names that differ only in case are the same file.
  const isTaken = others.some((other) => other.url.toLowerCase() === url.toLowerCase());
  if (isTaken) throw invalid("Another sink writes this file. Name another one.", "url");
}

/** The characters that a token may have in a header. */
const TOKEN = /^[\x21-\x7e]+$/;

const NOT_ALLOWED =
  "The server's setting sink_allow does not name this receiver, so nothing may be sent there. Ask the operator to add its host.";

const NO_FILES =
  "The server's setting sink_directory names no directory, so sinks write no files. Ask the operator to set it.";

/** @throws {Problem} when a certificate or key is not valid, or the key is not the certificate's */
function refuseBadCertificates({ ca, clientCertificate, clientKey }: SinkSettings & SinkCredentials): void {
  if (ca !== null && certificateIn(ca) === null) throw invalid('"ca" must be certificates in PEM.', "ca");
  if ((clientCertificate === null) !== (clientKey === null)) {
    throw invalid('Send "client_certificate" and "client_key" together.', "client_key");
  }
  if (clientCertificate === null || clientKey === null) return;
  const certificate = certificateIn(clientCertificate);
  if (certificate === null) throw invalid('"client_certificate" must be a certificate in PEM.', "client_certificate");
  if (!isKeyOf(certificate, clientKey)) {
    throw invalid('"client_key" must be the private key of "client_certificate", in PEM.', "client_key");
  }
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function isKeyOf(certificate: X509Certificate, pem: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(pem));
  } catch {
    return false;
  }
}
