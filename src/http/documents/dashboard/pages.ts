/**
 * The dashboard: one page for every address of its router, and two assets. The page holds no data. It
 * requests what it shows from `/account` and `/v1`, with the session's cookie.
 */
import type { Exchange } from "../../pipeline/exchange.ts";
import { Problem } from "../../problem.ts";
import type { PublicPage } from "../public-page.ts";
import { type WebFile, webFiles } from "./files.ts";

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

/** Allows nothing from elsewhere, nothing inline, and no text as markup. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  // Exports are forms in a hidden frame, whose response is saved or read as an error.
  "form-action 'self'",
  "frame-src 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/**
 * No Strict-Transport-Security: a browser applies it to every port of the host, and a daemon on
 * `localhost` or beside others must not decide for them. Plain HTTP fails at this port anyway.
 */
const PAGE_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
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

/** The pages and assets of the dashboard. */
export const DASHBOARD_PAGES: readonly PublicPage[] = [
  ...PAGE_PATHS.map((path) => ({ path, answer: page })),
  { path: `${ASSET_ROOT}/:name`, answer: asset },
];

function page(exchange: Exchange): Response {
  const { style, script } = webFiles();
  const headers = { ...exchange.headers("text/html; charset=utf-8"), ...PAGE_HEADERS };
  return new Response(markup(`${ASSET_ROOT}/${style.name}`, `${ASSET_ROOT}/${script.name}`), { headers });
}

function markup(stylePath: string, scriptPath: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>governd</title>
    <link rel="icon" href="${ICON}" />
    <link rel="stylesheet" href="${stylePath}" />
    <script type="module" src="${scriptPath}"></script>
  </head>
  <body>
    <noscript>The dashboard needs JavaScript. Everything in it can also be done through the API: see <a href="/v1/docs">/v1/docs</a>.</noscript>
    <div id="app"></div>
  </body>
</html>
`;
}

function asset(exchange: Exchange, request: Request): Response {
  const { pathname } = new URL(request.url);
  const { style, script } = webFiles();
  const file = [style, script].find(({ name }) => pathname === `${ASSET_ROOT}/${name}`);
  if (file === undefined) {
    throw new Problem("not_found", "There is no such asset in this release. Load the page again.");
  }
  return send(exchange, request, file);
}

function send(exchange: Exchange, request: Request, file: WebFile): Response {
  const headers: Record<string, string> = {
    ...exchange.headers(file.contentType),
    "cache-control": `public, max-age=${ASSET_MAX_AGE_SECONDS}, immutable`,
    "cross-origin-resource-policy": "same-origin",
    vary: "accept-encoding",
  };
  if (!acceptsGzip(request.headers.get("accept-encoding"))) return new Response(file.plain, { headers });
  return new Response(file.gzipped, { headers: { ...headers, "content-encoding": "gzip" } });
}

/** Reports whether `Accept-Encoding` (RFC 9110 section 12.5.3) accepts gzip. */
function acceptsGzip(header: string | null): boolean {
  if (header === null) return false;
  return header.split(",").some((item) => {
    const [coding = "", weight = ""] = item.split(";").map((part) => part.trim().toLowerCase());
    return coding === "gzip" && !/^q=0(\.0*)?$/.test(weight);
  });
}
