/** The paths of the assets inside the compiled binary. */
import kernelPath from "./assets/kernel.wasm" with { type: "file" };
import wordsPath from "./assets/words.bin" with { type: "file" };

export { kernelPath, wordsPath };
