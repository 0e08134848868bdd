/** The operations on sinks. What they change is stated by their events (log/row-effects.ts). */

import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { KeyUnusable } from "../../core/datadir/secret-key.ts";
import {
  answered,
  type Context,
  changedRows,
  type OperationsOf,
  operation,
  type Run,
  unchanged,
} from "../../core/writer/operation.ts";
import type { Site } from "../../core/writer/site.ts";
import { receiverAddress } from "../../follow/sinks/addresses.ts";
import { lagAt } from "../../follow/sinks/batch.ts";
import type { SinkSecrets } from "../../follow/sinks/config.ts";
import { newSigningKey, rotated, SECRET_BYTES, type SigningKey, shownKeys } from "../../follow/sinks/signature.ts";
import { listSinks, SinkKey, type StoredSink } from "../../follow/sinks/stored.ts";
import { showTime } from "../../ids.ts";
import type { JsonObject } from "../../json.ts";
import { boundDigest, ROW_TABLES } from "../../log/row-effects.ts";
import { invalid, Problem } from "../../problem.ts";
import type { SinkSettings, SinkType } from "../../sink.ts";
import { refuseBadSettings, refuseSharedFile } from "./checks.ts";
import { NO_PROGRESS, requireSink, type ShownSink, shownSink } from "./shown.ts";

/** The most sinks of a workspace. */
const MAX_SINKS = 20;
/** How long an old key still signs after a rotation, ms. */
const ROTATION_MS = 24 * 60 * 60_000;
/** The settings of which events state only a digest. */
const BOUND: readonly string[] = ["url", "ca", "clientCertificate", "clientKey", "token"];

const createSink: Run<"sink.create"> = async (reader, context, request) => {
  const { site, ids, principal } = context;
  const { clientKey, token, ...settings } = request;
  refuseBadSettings(request, site.places);
  const sinks = await listSinks(reader);
  refuseSharedFile(sinks, null, request);
  if (sinks.length >= MAX_SINKS) {
    throw invalid(`A workspace has at most ${MAX_SINKS} sinks. Remove one that is not needed.`);
  }
  const id = ids.next("snk");
  const signing = request.type === "webhook" ? [newSigningKey(randomBytes(SECRET_BYTES))] : [];
  const secrets = encrypted(context, id, { clientKey, token, signing }, sinks.length === 0);
  const { contents, digest } = bound(context, { ...settings, secrets });
  const { type, start } = request;
  const made = { type, start: start as string | number, settings_digest: digest };
  const details = { sink_id: id, ...made, ...settingDetails(request, Object.keys(request)) };
  const { timestamp: createdAt, seq: createdSeq } = context;
  const sink = { ...settings, ...NO_PROGRESS, id, createdSeq, createdAt, createdBy: principal.actor };
  return changedRows("sink.create", context, details, bodyOf(context, sink, signing), {
    contents: { sinks: contents },
    status: 201,
  });
};

const changeSink: Run<"sink.change"> = async (reader, context, { sinkId: id, change }) => {
  const sink = await requireSink(reader, id);
  const { clientKey, token, ...set } = change;
  const before = secretsOf(context, sink);
  const asked = Object.entries({ clientKey, token }).filter(([, value]) => value !== undefined);
  const secrets: SinkSecrets = { ...before, ...Object.fromEntries(asked) };
  const changed = { ...sink, ...set };
  // A sink whose receiver is no longer allowed can still be switched off.
  const begins = set.url !== undefined || set.enabled === true;
  refuseBadSettings({ ...changed, ...secrets }, begins ? context.site.places : null);
  refuseSharedFile(await listSinks(reader), id, changed);
  const names = [
    ...Object.keys(set).filter((name) => !isDeepStrictEqual(set[name as keyof typeof set], sink[name as never])),
    ...(["clientKey", "token"] as const).filter((name) => secrets[name] !== before[name]),
  ];
  if (names.length === 0) return unchanged(bodyOf({ seq: context.seq - 1, auditId: null }, sink));
  const isSecret = names.includes("clientKey") || names.includes("token");
  const stored = isSecret ? encrypted(context, id, secrets) : sink.secrets;
  const isBound = names.some((name) => BOUND.includes(name));
  const { contents, digest } = bound(context, { ...changed, secrets: stored });
  const details = {
    sink_id: id,
    changed: names.map(snake),
    ...(isBound && { settings_digest: digest }),
    ...settingDetails(changed, names),
  };
  return changedRows(
    "sink.change",
    context,
    details,
    bodyOf(context, changed),
    isBound ? { contents: { sinks: contents } } : {},
  );
};

/** Gives a webhook new signing keys. The old keys also sign for a day. */
const rotateSink: Run<"sink.rotate"> = async (reader, context, { sinkId: id }) => {
  const sink = await requireSink(reader, id);
  if (sink.type !== "webhook") throw invalid("Only the deliveries of webhooks are signed.");
  const until = context.nowMs + ROTATION_MS;
  const before = secretsOf(context, sink);
  const signing = rotated(before.signing, newSigningKey(randomBytes(SECRET_BYTES)), until, context.nowMs);
  const { contents, digest } = bound(context, { ...sink, secrets: encrypted(context, id, { ...before, signing }) });
  const details = { sink_id: id, old_keys_until: showTime(until), settings_digest: digest };
  return changedRows("sink.rotate", context, details, bodyOf(context, sink, signing), {
    contents: { sinks: contents },
  });
};

const removeSink: Run<"sink.remove"> = async (reader, context, { sinkId: id }) => {
  const { position } = await requireSink(reader, id);
  const body = JSON.stringify({ deleted: 1, audit_id: context.auditId });
  return changedRows("sink.remove", context, { sink_id: id, position }, body);
};

/** Sends a record from the reader thread, and records that it did. */
const testSink = operation("sink.test", {
  async look(reader, context, { sinkId: id }): Promise<string | null> {
    const { workspaceId, nowMs, site } = context;
    const sink = await requireSink(reader, id);
    const config = usable(() => new SinkKey(site).configOf(sink, workspaceId));
    // Most threads never need the code that connects to receivers.
    const { sendTest } = await import("../../follow/sinks/trial.ts");
    return await sendTest(config, site.places, () => nowMs);
  },
  async run(reader, context, { sinkId: id }, message) {
    await requireSink(reader, id);
    const body = { delivered: message === null, message, audit_id: context.auditId };
    return answered(null, { sink_id: id }, JSON.stringify(body));
  },
});

/**
 * The answer to a change.
 * @param at the newest event: that of the change, or the one before it when nothing changed
 * @param signing the new keys, which are shown only now
 */
function bodyOf(at: { seq: number; auditId: string | null }, sink: ShownSink, [newest]: readonly SigningKey[] = []) {
  const keys = newest === undefined ? {} : shownKeys(newest);
  return JSON.stringify({ ...shownSink(sink, lagAt(sink, at.seq)), ...keys, audit_id: at.auditId });
}

/** Returns the columns that the event binds by a digest, with a new salt, and their digest. */
function bound(
  { newSalt }: Pick<Context, "newSalt">,
  { url, ca, clientCertificate, secrets }: Pick<SinkSettings, "url" | "ca" | "clientCertificate"> & { secrets: string },
) {
  const contents = { url, ca, client_certificate: clientCertificate, secrets, salt: newSalt() };
  return { contents, digest: boundDigest(ROW_TABLES.sinks, contents) };
}

/** Returns the settings that an event states. Of an address, only the host: the rest may contain a secret. */
function settingDetails(sink: SinkSettings & { type: SinkType }, names: readonly string[]): JsonObject {
  const all: Readonly<Record<string, JsonObject>> = {
    url: { receiver: receiverAddress(sink.type, sink.url)?.name ?? null },
    format: { format: sink.format },
    filter: { filter: sink.filter as JsonObject },
    includeDetails: { include_details: sink.includeDetails },
    enabled: { enabled: sink.enabled },
  };
  return Object.assign({}, ...names.map((name) => all[name] ?? {})) as JsonObject;
}

type WithSite = { site: Site };

const encrypted = ({ site }: WithSite, id: string, secrets: SinkSecrets, isFirst = false): string =>
  usable(() => new SinkKey(site).encrypt(id, secrets, isFirst));

const secretsOf = ({ site }: WithSite, sink: StoredSink): SinkSecrets => usable(() => new SinkKey(site).decrypt(sink));

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

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const sinkOperations: OperationsOf<"sink"> = {
  "sink.create": { run: createSink },
  "sink.change": { run: changeSink },
  "sink.rotate": { run: rotateSink },
  "sink.remove": { run: removeSink },
  "sink.test": testSink,
};
