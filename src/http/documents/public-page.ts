import type { Exchange } from "../pipeline/exchange.ts";

/** A public path and its response to GET. */
export interface PublicPage {
  path: string;
  answer(exchange: Exchange, request: Request): Response | Promise<Response>;
}
