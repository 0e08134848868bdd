/** Whether this is the compiled binary, whose modules are in one bundle, and not the source. */
export const IS_COMPILED = !import.meta.path.endsWith(".ts");
