/** Files of `search/assets/`, embedded in the binary. The import is the path for reading the file. */
declare module "*.bin" {
  const path: string;
  export default path;
}
declare module "*.wasm" {
  const path: string;
  export default path;
}

/** Texts are imported `with { type: "text" }`, so that the binary carries them. */
declare module "*.sql" {
  const text: string;
  export default text;
}

declare module "*.txt" {
  const text: string;
  export default text;
}
