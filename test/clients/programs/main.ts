/** Runs every program against the daemon at the first argument, and prints what each saw and how it sent the key. */
import { live as heyApi } from "./hey-api.ts";
import { live as openapiTypescript } from "./openapi-typescript.ts";
import { live as orval } from "./orval.ts";

const [baseUrl = "", key = ""] = process.argv.slice(2);
const carriers = new Set<string>();
const send = globalThis.fetch;
globalThis.fetch = Object.assign(async (input: Parameters<typeof send>[0], init?: RequestInit) => {
  const request = new Request(input as Request, init);
  for (const [name, value] of request.headers) if (value.includes(key)) carriers.add(name);
  if (request.url.includes(key)) carriers.add("the address");
  return send(request);
}, send);
const seen = [];
for (const live of [openapiTypescript, heyApi, orval]) seen.push(await live(baseUrl, key));
console.log(JSON.stringify({ carriers: [...carriers], seen }));
