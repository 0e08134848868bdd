/** A public path and its response to GET. */
import { CompressedFile } from "../pipeline/compression.ts";
import type { Exchange } from "../pipeline/exchange.ts";

export interface PublicPage {
  path: string;
  answer(exchange: Exchange, request: Request): Response | Promise<Response>;
}

/** Returns the page whose response is 200 with what `body` returns, unless that throws. */
export function page(path: string, contentType: string, body: () => string | Promise<string>): PublicPage {
  return { path, answer: async (exchange) => new Response(await body(), { headers: exchange.headers(contentType) }) };
}

/** Returns a page for a file, which does not change while the daemon runs, and is loaded on the first request. */
export function filePage(
  path: string,
  contentType: string,
  load: () => string | Promise<string> | Promise<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): PublicPage {
  const file = new CompressedFile(async () => {
    const content = await load();
    return typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
  });
  return {
    path,
    answer: (exchange, request) => file.respond(request, { ...exchange.headers(contentType), ...headers }),
  };
}

/**
 * Returns a Content-Security-Policy that allows nothing from other origins and nothing inline, with further directives.
 */
export function contentSecurityPolicy(...further: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Small pictures are in the style sheet.
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...further,
  ].join("; ");
}
