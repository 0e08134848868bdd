/** The addresses of receivers, by type. */
import type { SinkType } from "../sink.ts";
import { hostOf } from "./allowed.ts";
import { HTTPS_PORT } from "./https.ts";

/** Where a connection to a receiver goes. */
interface Place {
  host: string;
  port: number;
  /** For people: the host with the port. The rest of an address may hold a secret. */
  name: string;
}

/** Returns where the receiver of a sink is; null when the address does not have the form of the type. */
export const placeOf = (type: SinkType, url: string): Place | null => FORMS[type].place(url);

/** Returns the form that an address has, for the person who sent another one. */
export const expectedUrl = (type: SinkType): string => FORMS[type].expected;

interface Form {
  expected: string;
  place(url: string): Place | null;
}

const HTTPS: Form = {
  expected: "an https address without a user name, a password and a fragment, such as https://siem.example.org/in",
  place: (text) => {
    const url = URL.parse(text);
    const isPlain = url?.username === "" && url.password === "" && url.hash === "";
    return url?.protocol === "https:" && isPlain ? placeAt(url, Number(url.port || HTTPS_PORT)) : null;
  },
};

const FORMS: Record<SinkType, Form> = { webhook: HTTPS, otlp: HTTPS, splunk_hec: HTTPS };

const placeAt = (url: URL, port: number): Place => ({ host: hostOf(url), port, name: `${url.hostname}:${port}` });
