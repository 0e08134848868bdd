/** Downloads to files. */
import { ApiProblem, unreachable } from "../api/problem.ts";
import type { JsonObject } from "../api/types.ts";

/** How many forms were sent. Each has its own frame. */
let downloads = 0;

/** How long the browser may take to start; then the memory is freed. */
const KEEP_MS = 60_000;

export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
}

/**
 * Sends a form whose response the browser saves to a file, however large. Calls `onProblem` when the
 * response is an error. There is no event when the browser starts to save.
 */
export function submitForDownload(
  path: string,
  fields: Readonly<Record<string, string>>,
  onProblem: (problem: ApiProblem) => void,
): void {
  const frame = document.createElement("iframe");
  frame.name = `download-${++downloads}`;
  frame.hidden = true;
  frame.title = "Download";
  document.body.append(frame);
  // A response that is saved never loads into the frame.
  frame.addEventListener("load", () => {
    const text = frame.contentDocument?.body.textContent ?? "";
    frame.remove();
    onProblem(problemIn(text));
  });
  const form = document.createElement("form");
  form.method = "post";
  form.action = path;
  form.target = frame.name;
  form.hidden = true;
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
  form.remove();
}

function problemIn(text: string): ApiProblem {
  try {
    const document = JSON.parse(text) as JsonObject;
    return new ApiProblem(Number(document.status), document);
  } catch {
    return unreachable();
  }
}
