/** Files of `search/assets/`, embedded in the binary. The import is the path for reading the file. */
declare module "*.bin" {
  const path: string;
  export default path;
}
declare module "*.wasm" {
  const path: string;
  export default path;
}
