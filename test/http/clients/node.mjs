// Sends the requests of its argument with Node's own clients, and prints the status of each, or the error instead.
import http from "node:http";
import https from "node:https";

const { ca, requests } = JSON.parse(process.argv[2]);

// Made before the request: on a busy machine it takes seconds, and the daemon would see a client that sends no body.
const bodyOf = ({ size, isChunked }) => {
  const body = Buffer.alloc(size, "x");
  return isChunked ? body.toString().match(/x{1,65536}/g) : [body];
};

const withRequest = (request) =>
  new Promise((resolve, reject) => {
    const { url, method, headers, isLast, isChunked, size } = request;
    const pieces = bodyOf(request);
    const library = url.startsWith("https:") ? https : http;
    const agent = new library.Agent({ keepAlive: !isLast });
    const length = isChunked ? {} : { "content-length": size };
    const sent = library.request(url, { method, headers: { ...headers, ...length }, ca, agent }, (answer) => {
      answer.on("data", () => {}).on("error", reject);
      answer.on("end", () => resolve(answer.statusCode));
    });
    sent.on("error", reject);
    const send = () => {
      for (const piece of pieces) sent.write(piece);
      sent.end();
    };
    if (headers.expect === undefined) send();
    else sent.on("continue", send).flushHeaders();
  });

const withFetch = async (request) => {
  const { url, method, headers, isChunked } = request;
  const pieces = bodyOf(request);
  const body = isChunked ? ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()) : pieces[0];
  const answer = await fetch(url, { method, headers, body, duplex: "half" });
  await answer.text();
  return answer.status;
};

const statuses = [];
for (const request of requests) {
  const send = request.client === "fetch" ? withFetch : withRequest;
  statuses.push(await send(request).catch((error) => String(error.cause?.code ?? error.code ?? error)));
}
console.log(JSON.stringify(statuses));
process.exit();
