/** The addresses of receivers, by type. The code that connects to them is elsewhere: only the delivery thread needs it. */
import type { SinkType } from "../../sink.ts";
import { hostOf } from "./allowed.ts";

export const HTTPS_PORT = 443;
/** The port of syslog over TLS (RFC 5425 section 4.1). */
export const SYSLOG_PORT = 6514;

/** The path of a file: its names consist of letters, digits and `_.-`, and do not begin with a dot. */
const PATH = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}(\/[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}){0,7}$/;

export const isSinkPath = (path: string): boolean => PATH.test(path);

/** The address of a receiver. */
interface ReceiverAddress {
  /** For people: the host with the port, or the path of a file. The rest of a URL may contain a secret. */
  name: string;
  /** The endpoint of connections; null for a file. */
  endpoint: { host: string; port: number } | null;
}

/** Returns the place of a sink's receiver; null when the URL does not have the form of the type. */
export const receiverAddress = (type: SinkType, url: string): ReceiverAddress | null => FORMS[type].place(url);

/** Returns the expected form of a URL, for an error message. */
export const expectedUrl = (type: SinkType): string => FORMS[type].expected;

interface Form {
  expected: string;
  place(url: string): ReceiverAddress | null;
}

const HTTPS: Form = {
  expected: "an https address without a user name, a password and a fragment, such as https://siem.example.org/in",
  place(text) {
    const url = URL.parse(text);
    const isPlain = url?.username === "" && url.password === "" && url.hash === "";
    return url?.protocol === "https:" && isPlain ? placeAt(url, HTTPS_PORT) : null;
  },
};

const SYSLOG: Form = {
  expected: "a host with a port, such as tls://siem.example.org:6514",
  place(text) {
    const url = /^tls:\/\/[^/?#@\s]+$/.test(text) ? URL.parse(text) : null;
    return url === null || url.hostname === "" ? null : placeAt(url, SYSLOG_PORT);
  },
};

const FILE: Form = {
  expected: "a path in the server's sink_directory, such as siem/events.ndjson, of names that do not begin with a dot",
  place: (text) => (isSinkPath(text) ? { name: text, endpoint: null } : null),
};

const FORMS: Record<SinkType, Form> = { webhook: HTTPS, syslog: SYSLOG, otlp: HTTPS, splunk_hec: HTTPS, file: FILE };

function placeAt(url: URL, defaultPort: number): ReceiverAddress {
  const endpoint = endpointOf(url, defaultPort);
  return { name: `${url.hostname}:${endpoint.port}`, endpoint };
}

/** Returns the host and the port to which connections for a URL are made. */
export function endpointOf(url: URL, defaultPort: number): NonNullable<ReceiverAddress["endpoint"]> {
  return { host: hostOf(url), port: Number(url.port || defaultPort) };
}
