/** The documentation page. It loads everything from this binary. */
import stylePath from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import bundlePath from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { contentSecurityPolicy, type PublicPage, page } from "../public-page.ts";

/** Where the OpenAPI document of `/v1` is served. */
export const OPENAPI_PATH = "/v1/openapi.json";

/** Where the document of the routes for people is served. */
export const ACCOUNT_API_PATH = "/account/openapi.json";

/** Where the page is served, with its assets below. */
const DOCS_PATH = "/v1/docs";

const STYLE_PATH = `${DOCS_PATH}/swagger-ui.css`;
const BUNDLE_PATH = `${DOCS_PATH}/swagger-ui-bundle.js`;
const START_PATH = `${DOCS_PATH}/start.js`;

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
  </head>
  <body>
    <noscript>This page needs JavaScript. The API's description is at <a href="${OPENAPI_PATH}">${OPENAPI_PATH}</a>.</noscript>
    <div id="docs"></div>
    <script src="${BUNDLE_PATH}"></script>
    <script src="${START_PATH}"></script>
  </body>
</html>
`;

// No validator: the default one sends the document's address to an external service.
const START = `SwaggerUIBundle({ url: ${JSON.stringify(OPENAPI_PATH)}, dom_id: "#docs", deepLinking: true, validatorUrl: null });
`;

const ASSET = { "cache-control": `public, max-age=${ASSET_MAX_AGE_SECONDS}` };

/** The page and its assets. */
export const DOCS_PAGES: readonly PublicPage[] = [
  page(DOCS_PATH, "text/html; charset=utf-8", () => PAGE, {
    "content-security-policy": contentSecurityPolicy("form-action 'none'"),
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  }),
  page(STYLE_PATH, "text/css; charset=utf-8", () => Bun.file(stylePath), ASSET),
  page(BUNDLE_PATH, "text/javascript; charset=utf-8", () => Bun.file(bundlePath), ASSET),
  page(START_PATH, "text/javascript; charset=utf-8", () => START, ASSET),
];
