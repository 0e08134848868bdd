/**
 * The dashboard: one page for every address of its router, and its assets. The page itself has no data. It requests
 * data from `/account` and `/v1` with the session's cookie.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fontPath from "@fontsource-variable/archivo/files/archivo-latin-standard-normal.woff2" with { type: "file" };
import { Problem } from "../../../problem.ts";
import stylePath from "../../../web/assets/dashboard.css" with { type: "file" };
import scriptPath from "../../../web/assets/dashboard.js" with { type: "file" };
import codePath from "../../../web/assets/qr-code.js" with { type: "file" };
import { CompressedFile } from "../pipeline/compression.ts";
import type { Exchange } from "../pipeline/exchange.ts";
import { contentSecurityPolicy, filePage, type PublicPage } from "./public-page.ts";

/** The addresses of the page. The router in the browser handles those below `/workspaces`. */
const PAGE_PATHS = [
  "/",
  "/sign-in",
  "/sign-up",
  "/join",
  "/reset",
  "/settings",
  "/workspaces",
  "/workspaces/*",
] as const;

const ASSET_ROOT = "/assets";

/** Seconds that a browser may cache an asset, whose name changes with its content. */
const ASSET_MAX_AGE_SECONDS = 31_536_000;

/**
 * No Strict-Transport-Security: a browser applies it to every port of the host, and a daemon on `localhost` or beside
 * others must not decide for them. Plain HTTP fails at this port anyway.
 */
const PAGE_HEADERS = {
  "content-security-policy": contentSecurityPolicy(
    // Exports are forms in a hidden frame, whose response is saved or read as an error.
    "form-action 'self'",
    "frame-src 'self'",
    // No text as markup.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ),
  // For browsers without frame-ancestors.
  "x-frame-options": "DENY",
  // Addresses contain agent ids and keys of data.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "cache-control": "no-cache",
} as const;

/** The icon as a data URL, so that nothing is fetched for it. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230f766e'/%3E%3Cpath d='M9 16.5l5 5 9-10' fill='none' stroke='white' stroke-width='3.5' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E";

/** Hexadecimal digits of a file's digest in its name. */
const DIGEST_DIGITS = 16;

/** Returns an asset. Its name changes with its content, so browsers never mix two releases. */
function asset(plain: Uint8Array<ArrayBuffer>, extension: string, contentType: string) {
  const digest = createHash("sha256").update(plain).digest("hex").slice(0, DIGEST_DIGITS);
  const path = `${ASSET_ROOT}/dashboard-${digest}.${extension}`;
  return { path, contentType, file: new CompressedFile(async () => plain) };
}

const read = (path: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(path));

/**
 * Returns the CSS rule of the font. A page never changes its font while it is read, so that nothing moves: if the file
 * arrives late, the page keeps the system's font, and the next page uses this one.
 */
const ruleOf = (path: string): string =>
  `@font-face{font-family:Archivo;src:url(${path})format("woff2");font-weight:100 900;font-stretch:62% 125%;font-display:optional;unicode-range:U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215}\n`;

type Asset = ReturnType<typeof asset>;

const SCRIPT_TYPE = "text/javascript; charset=utf-8";

/** Returns the main script, with the name under which the second script is served. */
function scriptWith(code: Asset): Asset {
  const text = readFileSync(scriptPath, "utf8");
  if (!text.includes(CODE_NAME)) throw new Error("the dashboard's script does not load the one of QR codes");
  return asset(new TextEncoder().encode(text.replaceAll(CODE_NAME, JSON.stringify(code.path))), "js", SCRIPT_TYPE);
}

/** The name with which the bundled dashboard imports the second script. */
const CODE_NAME = '"./qr-code.js"';

let loaded: Record<"font" | "style" | "script" | "code", Asset> | undefined;

/** Returns the assets, which are loaded on the first request. */
function webFiles() {
  if (loaded === undefined) {
    const font = asset(read(fontPath), "woff2", "font/woff2");
    const rules = new Uint8Array(Buffer.concat([Buffer.from(ruleOf(font.path)), read(stylePath)]));
    const code = asset(read(codePath), "js", SCRIPT_TYPE);
    loaded = { font, style: asset(rules, "css", "text/css; charset=utf-8"), script: scriptWith(code), code };
  }
  return loaded;
}

/** Returns the CSS rule of the dashboard's font, for other pages. */
export const faceRule = (): string => ruleOf(webFiles().font.path);

/** The pages and assets of the dashboard. */
export const DASHBOARD_PAGES: readonly PublicPage[] = [
  ...PAGE_PATHS.map((path) => filePage(path, "text/html; charset=utf-8", markup, PAGE_HEADERS)),
  { path: `${ASSET_ROOT}/:name`, answer: assetNamed },
];

function markup(): string {
  const { font, style, script } = webFiles();
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>governd</title>
    <link rel="icon" href="${ICON}" />
    <link rel="stylesheet" href="${style.path}" />
    <link rel="preload" href="${font.path}" as="font" type="font/woff2" crossorigin fetchpriority="low" />
    <script type="module" src="${script.path}"></script>
  </head>
  <body>
    <noscript>The dashboard needs JavaScript. Everything in it can also be done through the API: see <a href="/v1/docs">/v1/docs</a>.</noscript>
    <div id="app"></div>
  </body>
</html>
`;
}

function assetNamed(exchange: Exchange, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const found = Object.values(webFiles()).find(({ path }) => pathname === path);
  if (found === undefined) {
    throw new Problem("not_found", "There is no such asset in this release. Load the page again.");
  }
  return found.file.respond(request, {
    ...exchange.headers(found.contentType),
    "cache-control": `public, max-age=${ASSET_MAX_AGE_SECONDS}, immutable`,
    "cross-origin-resource-policy": "same-origin",
  });
}
