/** The admin API of a self-hosted libSQL server (sqld): it creates namespaces. */
import { sendRequest } from "../outbound.ts";
import { noAnswer, ServerRefused } from "./server.ts";

/** How long the admin API may take, ms. */
const TIMEOUT_MS = 10_000;

/** The most bytes of a row or a parameter. The server takes this limit only when a namespace is created. */
const MAX_ROW_BYTES = 512 * 1024 * 1024;

/** The part of a namespace's configuration that governd reads. */
interface NamespaceConfig {
  durability_mode: string;
}

export class ServerAdmin {
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /**
   * Creates a namespace whose commits are on disk when they are answered. A namespace that exists stays as it is.
   * @throws {ServerRefused}
   */
  async create(namespace: string): Promise<void> {
    const config = { durability_mode: "strong", max_row_size: MAX_ROW_BYTES };
    const answered = await this.#request("POST", `v1/namespaces/${namespace}/create`, config);
    if (answered.ok) return;
    const text = await answered.text();
    if (!/already exists/i.test(text)) throw new ServerRefused(answered.status, text.slice(0, 200));
  }

  /** Deletes a namespace, if there is one. @throws {ServerRefused} */
  async delete(namespace: string): Promise<void> {
    const answered = await this.#request("DELETE", `v1/namespaces/${namespace}`);
    if (!answered.ok && answered.status !== 404) throw new ServerRefused(answered.status, await answered.text());
  }

  /** Returns the configuration of a namespace; null when there is none. @throws {ServerRefused} */
  async config(namespace: string): Promise<NamespaceConfig | null> {
    const answered = await this.#request("GET", `v1/namespaces/${namespace}/config`);
    if (answered.status === 404) return null;
    if (!answered.ok) throw new ServerRefused(answered.status, (await answered.text()).slice(0, 200));
    return (await answered.json()) as NamespaceConfig;
  }

  /** Returns the status with which the API answers a request without a key. */
  async statusWithoutKey(): Promise<number> {
    const answered = await this.#fetch("v1/namespaces/governd/config", {});
    await answered.text();
    return answered.status;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const { href } = new URL(path, this.url.endsWith("/") ? this.url : `${this.url}/`);
    try {
      return await sendRequest(href, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (error) {
      throw noAnswer(error);
    }
  }

  #request(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<Response> {
    return this.#fetch(path, {
      method,
      // In this scheme the server expects the key as it is, not in base64.
      headers: { authorization: `basic ${this.token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}
