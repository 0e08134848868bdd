/** The documentation page. It loads everything from this binary. */
import { basename, isAbsolute, relative } from "node:path";
import stylePath from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import bundlePath from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { faceRule } from "../dashboard.ts";
import { contentSecurityPolicy, filePage, type PublicPage } from "../public-page.ts";
import lookPath from "./look.css" with { type: "file" };

/** Where the OpenAPI document of `/v1` is served. */
export const OPENAPI_PATH = "/v1/openapi.json";

/** Where the document of the routes for people is served. */
export const ACCOUNT_API_PATH = "/account/openapi.json";

/** Where the page is served, with its assets below. */
const DOCS_PATH = "/v1/docs";

const STYLE_PATH = `${DOCS_PATH}/swagger-ui.css`;
const BUNDLE_PATH = `${DOCS_PATH}/swagger-ui-bundle.js`;
const START_PATH = `${DOCS_PATH}/start.js`;
const LOOK_PATH = `${DOCS_PATH}/look.css`;

/** Seconds that a browser may keep an asset. */
const ASSET_MAX_AGE_SECONDS = 3600;

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>governd API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${STYLE_PATH}" />
    <link rel="stylesheet" href="${LOOK_PATH}" />
  </head>
  <body>
    <header class="top"><a class="top-back" href="/">← Dashboard</a> <strong>governd API</strong> <a href="${OPENAPI_PATH}">OpenAPI document</a></header>
    <noscript>This page needs JavaScript. The API's description is at <a href="${OPENAPI_PATH}">${OPENAPI_PATH}</a>.</noscript>
    <div id="docs"></div>
    <script src="${BUNDLE_PATH}"></script>
    <script src="${START_PATH}"></script>
  </body>
</html>
`;

/**
 * Returns the script that starts the page. The browser keeps the key across a reload. The curl commands on the page
 * trust the authority at `caFile`, unless it is null.
 */
function start(caFile: string | null): string {
  const curlOptions = caFile === null ? [] : ["--cacert", shownPath(caFile)];
  return `const show = (spec) => SwaggerUIBundle({
  spec,
  dom_id: "#docs",
  deepLinking: true,
  // The default one sends the document's address to an external service.
  validatorUrl: null,
  persistAuthorization: true,
  tryItOutEnabled: true,
  requestInterceptor: (request) => Object.assign(request, { curlOptions: ${JSON.stringify(curlOptions)} }),
});

// The page fills in examples. Those of parameters that can be left out would exclude each other, so they become words.
function describeExample(parameter) {
  if (parameter.required || !("example" in parameter)) return;
  parameter.description += " Example: \`" + parameter.example + "\`";
  delete parameter.example;
}

fetch(${JSON.stringify(OPENAPI_PATH)})
  .then((response) => response.json())
  .then((spec) => {
    const operations = Object.values(spec.paths).flatMap((methods) => Object.values(methods));
    operations.flatMap(({ parameters = [] }) => parameters).forEach(describeExample);
    show(spec);
  });
`;
}

/**
 * Returns a path relative to the daemon's directory, or only the name of a file elsewhere, since the page is public.
 */
function shownPath(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith("..") || isAbsolute(path) ? basename(path) : path;
}

const ASSET = { "cache-control": `public, max-age=${ASSET_MAX_AGE_SECONDS}` };

/** Returns the page and its assets. `caFile`: the daemon's own certificate authority; null when it does not use one. */
export const docsPages = (caFile: string | null): PublicPage[] => [
  filePage(DOCS_PATH, "text/html; charset=utf-8", () => PAGE, {
    "content-security-policy": contentSecurityPolicy("form-action 'none'"),
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  }),
  filePage(STYLE_PATH, "text/css; charset=utf-8", () => Bun.file(stylePath).arrayBuffer(), ASSET),
  filePage(LOOK_PATH, "text/css; charset=utf-8", async () => faceRule() + (await Bun.file(lookPath).text()), {
    "cache-control": "no-cache",
  }),
  filePage(BUNDLE_PATH, "text/javascript; charset=utf-8", () => Bun.file(bundlePath).arrayBuffer(), ASSET),
  filePage(START_PATH, "text/javascript; charset=utf-8", () => start(caFile), { "cache-control": "no-cache" }),
];
