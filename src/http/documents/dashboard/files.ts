/**
 * The dashboard's files in the binary. The names of the style sheet and the script change with their
 * content, so a browser may cache them forever and never mixes two releases.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import stylePath from "../../../web/assets/dashboard.css" with { type: "file" };
import scriptPath from "../../../web/assets/dashboard.js" with { type: "file" };

/** Hexadecimal digits of a file's digest in its name. */
const DIGEST_DIGITS = 16;

/** A file that is ready to be sent. */
export interface WebFile {
  /** Its last path segment. */
  name: string;
  contentType: string;
  plain: Uint8Array<ArrayBuffer>;
  gzipped: Uint8Array<ArrayBuffer>;
}

/** The style sheet and the script of the dashboard. */
export interface WebFiles {
  style: WebFile;
  script: WebFile;
}

let loaded: WebFiles | undefined;

/** Returns the files, which are read and compressed on the first request. */
export function webFiles(): WebFiles {
  loaded ??= {
    style: load(stylePath, "dashboard", "css", "text/css; charset=utf-8"),
    script: load(scriptPath, "dashboard", "js", "text/javascript; charset=utf-8"),
  };
  return loaded;
}

function load(path: string, base: string, extension: string, contentType: string): WebFile {
  const plain = new Uint8Array(readFileSync(path));
  const digest = createHash("sha256").update(plain).digest("hex").slice(0, DIGEST_DIGITS);
  return {
    name: `${base}-${digest}.${extension}`,
    contentType,
    plain,
    gzipped: new Uint8Array(gzipSync(plain, { level: 9 })),
  };
}
