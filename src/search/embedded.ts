/** The assets as the compiled binary carries them: paths under which they can be read. */
import kernelPath from "./assets/kernel.wasm" with { type: "file" };
import wordsPath from "./assets/words.bin" with { type: "file" };

export { kernelPath, wordsPath };
