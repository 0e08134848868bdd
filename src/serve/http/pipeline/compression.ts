/**
 * Compression of responses (RFC 9110 section 8.4.1, RFC 8878) for clients that accept it.
 *
 * Whoever can choose a part of a text and sees how long it is when compressed can guess its other parts (BREACH). So
 * only bodies without secrets are compressed: files that everybody may read, and the answers of routes about the audit
 * trail and about agents as a whole (`compressed` of a route). The trail holds no stored value and no text that a
 * detector matched. Data, checkpoints, configurations and everything of accounts are never compressed.
 *
 * Threads of the runtime compress, and only a few responses at once, so that other requests do not wait.
 */
import { once } from "node:events";
import type { Transform } from "node:stream";
import { promisify } from "node:util";
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from "node:zlib";

/** Shorter bodies fit in a few packets anyway. Bytes, or UTF-16 code units of a text. */
const SHORTEST = 8 * 1024;

/** How many responses are compressed at once while they are made. Further responses are sent uncompressed. */
const MOST_AT_ONCE = 4;

/** A content coding. Responses that are made once are compressed as well as possible, others as cheaply. */
interface Coding {
  /** As the headers name it. */
  name: string;
  stream(): Transform;
  /** For a file that is compressed once. */
  whole(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>>;
}

const brotli = (quality: number) => ({ params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
const zstd = (level: number) => ({ params: { [constants.ZSTD_c_compressionLevel]: level } });

/** The preferred coding first: for JSON, zstd takes a third of the time of gzip. */
const CODINGS: readonly Coding[] = [
  {
    name: "zstd",
    stream: () => createZstdCompress(zstd(1)),
    whole: async (bytes) => new Uint8Array(await promisify(zstdCompress)(bytes, zstd(12))),
  },
  {
    name: "br",
    stream: () => createBrotliCompress(brotli(1)),
    whole: async (bytes) => new Uint8Array(await promisify(brotliCompress)(bytes, brotli(9))),
  },
  {
    name: "gzip",
    stream: () => createGzip({ level: 1 }),
    whole: async (bytes) => new Uint8Array(await promisify(gzip)(bytes, { level: 9 })),
  },
];

/** Returns the coding for an `Accept-Encoding` (RFC 9110 section 12.5.3), null to send the body as it is. */
function codingFor(header: string | null): Coding | null {
  if (header === null) return null;
  const weights = new Map(header.split(",").map(weighted));
  const weightOf = ({ name }: Coding) => weights.get(name) ?? 0;
  const best = Math.max(...CODINGS.map(weightOf));
  return best === 0 ? null : (CODINGS.find((coding) => weightOf(coding) === best) ?? null);
}

function weighted(item: string): [name: string, weight: number] {
  const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  const number = weight === undefined ? 1 : Number(weight.slice("q=".length));
  return [name, Number.isNaN(number) ? 0 : number];
}

type Headers = Record<string, string>;

/** A file that does not change while the daemon runs, in each coding that clients requested. */
export class CompressedFile {
  readonly #coded = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

  constructor(private readonly load: () => Promise<Uint8Array<ArrayBuffer>>) {}

  /** Returns the response to a request for the file. */
  async respond(request: Request, headers: Headers): Promise<Response> {
    headers.vary = "Accept-Encoding";
    const coding = codingFor(request.headers.get("accept-encoding"));
    const plain = await this.#in("identity", this.load);
    if (coding === null || plain.length < SHORTEST) return new Response(plain, { headers });
    headers["content-encoding"] = coding.name;
    return new Response(await this.#in(coding.name, () => coding.whole(plain)), { headers });
  }

  #in(name: string, make: () => Promise<Uint8Array<ArrayBuffer>>): Promise<Uint8Array<ArrayBuffer>> {
    const known = this.#coded.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.#coded.set(name, made);
    return made;
  }
}

let atOnce = 0;

/**
 * Returns the body of a response, compressed when its client accepts that, and completes its headers. The body must not
 * have an entity tag: the tag would stand for other bytes.
 */
export function compressedBody(
  body: string | ReadableStream<Uint8Array>,
  request: Request,
  headers: Headers,
): string | ReadableStream<Uint8Array> {
  headers.vary = "Accept-Encoding";
  const isShort = typeof body === "string" && body.length < SHORTEST;
  // The runtime would read the body of a HEAD to its end.
  if (isShort || request.method === "HEAD" || atOnce === MOST_AT_ONCE) return body;
  const coding = codingFor(request.headers.get("accept-encoding"));
  if (coding === null) return body;
  headers["content-encoding"] = coding.name;
  return through(coding.stream(), typeof body === "string" ? streamOf(body) : body);
}

const streamOf = (text: string) => new Response(text).body as ReadableStream<Uint8Array>;

/**
 * Sends a stream through a compressor. The result reads only as fast as its own reader, and ends or fails when the
 * stream does.
 */
function through(engine: Transform, source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const output = engine[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const ending = new AbortController();
  // The next read gets an error. Without a listener, the runtime would throw it as well.
  engine.on("error", () => {});
  atOnce++;
  engine.once("close", () => {
    atOnce--;
    ending.abort();
  });
  feed(reader, engine, ending.signal).catch((error) => engine.destroy(error));
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await output.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        engine.destroy();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

interface Source {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
}

async function feed(reader: Source, engine: Transform, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (signal.aborted) return;
    if (done) {
      engine.end();
      return;
    }
    if (!engine.write(value)) await once(engine, "drain", { signal });
  }
}
