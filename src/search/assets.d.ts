/** Files of `assets/`, embedded in the binary: the import is the path under which they can be read. */
declare module "*.bin" {
  const path: string;
  export default path;
}
declare module "*.wasm" {
  const path: string;
  export default path;
}
