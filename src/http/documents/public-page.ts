/** A public path and its response to GET. */
import type { Exchange } from "../pipeline/exchange.ts";

export interface PublicPage {
  path: string;
  answer(exchange: Exchange, request: Request): Response | Promise<Response>;
}

/** Returns the page whose response is 200 with what `body` returns, unless that throws. */
export function page(
  path: string,
  contentType: string,
  body: () => string | Blob | Promise<string>,
  headers: Readonly<Record<string, string>> = {},
): PublicPage {
  return {
    path,
    answer: async (exchange) =>
      new Response(await body(), { headers: { ...exchange.headers(contentType), ...headers } }),
  };
}
