/** Saves something as a file of the user. */

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
