/** `governd check`: checks that sinks can deliver. */
import { accessSync, constants } from "node:fs";
import type { DataDirectory } from "../../core/datadir/layout.ts";
import { systemReason } from "../../failure.ts";
import { SinkKey, type StoredSink } from "../../follow/sinks/stored.ts";
import { showTime } from "../../ids.ts";
import { isAllowed } from "../../ops/sinks/checks.ts";
import type { Settings } from "../../settings/definitions.ts";
import { sinkPlaces } from "../../sink.ts";
import { count } from "../terminal.ts";
import { type Finding, finding } from "./finding.ts";

/** Checks the sinks of all workspaces, and the directory of their files. */
export function checkSinks(sinks: readonly StoredSink[], directory: DataDirectory, settings: Settings): Finding[] {
  const places = sinkPlaces(settings);
  const enabled = sinks.filter((sink) => sink.enabled);
  const findings: Finding[] = [...unreadable(sinks, directory), ...unwritable(places.directory)];
  for (const { id, type, url, lastError } of enabled) {
    if (!isAllowed({ type, url }, places)) {
      findings.push(finding("sinks", "warning", `${id} delivers nothing: the settings do not allow its receiver`));
    } else if (lastError !== null && lastError.isPartial !== true) {
      findings.push(finding("sinks", "warning", `${id} fails since ${showTime(lastError.at)}: ${lastError.message}`));
    }
  }
  if (findings.length > 0 || sinks.length === 0) return findings;
  return [finding("sinks", "ok", `${count(enabled.length, "sink")} of ${sinks.length} deliver, and none failed last`)];
}

function unreadable(sinks: readonly StoredSink[], directory: DataDirectory): Finding[] {
  const key = new SinkKey(directory);
  const lost = sinks.filter((sink) => !key.reads(sink)).length;
  if (lost === 0) return [];
  const message = `the key does not decrypt the secrets of ${count(lost, "sink")}: restore the key from a backup`;
  return [finding("sinks", "problem", message, directory.sinkKey)];
}

function unwritable(path: string | null): Finding[] {
  if (path === null) return [];
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    return [finding("sinks", "warning", `this user cannot write into sink_directory: ${systemReason(error)}`, path)];
  }
}
