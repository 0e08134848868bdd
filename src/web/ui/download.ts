/** Saves something as a file of the user. */
import { ApiProblem, unreachable } from "../api/problem.ts";
import type { JsonObject } from "../api/types.ts";

/** Forms sent so far: each has a frame of its own. */
let downloads = 0;

/** How long the browser may take to begin; then the memory is given back. */
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
 * Sends a form whose answer the browser saves as it comes, however large. `onProblem` is told when the
 * answer is an error instead; that it is being saved, a browser does not say.
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
  // An answer that is saved never loads into the frame.
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

/** The problem that an answer says, if it can be read. */
function problemIn(text: string): ApiProblem {
  try {
    const document = JSON.parse(text) as JsonObject;
    return new ApiProblem(Number(document.status), document, null);
  } catch {
    return unreachable();
  }
}
