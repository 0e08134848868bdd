/** Writes Model2Vec models with given vectors to files. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Returns a safetensors file with these tensors. */
export function safetensors(
  tensors: Record<string, { dtype: string; shape: number[]; bytes: Uint8Array }>,
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let at = 0;
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
    at += bytes.length;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...Object.values(tensors).map(({ bytes }) => bytes)]);
}

/** Returns the `tokenizer.json` of a vocabulary, in order. The first word stands for unknown ones. */
export function tokenizerOf(words: readonly string[]): object {
  return {
    version: "1.0",
    added_tokens: [],
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: null,
    decoder: null,
    model: {
      type: "WordPiece",
      unk_token: words[0],
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(words.map((word, number) => [word, number])),
    },
  };
}

/** Writes a model with these words and their vectors, which are all of one length. */
export function writeModel(directory: string, vectors: Readonly<Record<string, readonly number[]>>): void {
  const dimensions = Object.values(vectors)[0]?.length ?? 0;
  const rows = Float32Array.from([...new Array<number>(dimensions).fill(0), ...Object.values(vectors).flat()]);
  const shape = [rows.length / dimensions, dimensions];
  const embeddings = { dtype: "F32", shape, bytes: new Uint8Array(rows.buffer) };
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "model.safetensors"), safetensors({ embeddings }));
  writeFileSync(join(directory, "tokenizer.json"), JSON.stringify(tokenizerOf(["[UNK]", ...Object.keys(vectors)])));
}
