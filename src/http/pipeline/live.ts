/** The body of an answer that goes on for as long as its client may see it and reads it. */

/** How often it is looked whether the client still may, and still reads. */
const WATCH_EVERY_MS = 1_000;
/** A client that leaves what it was sent for so long is cut off: its stream occupies a place. */
const MAX_UNREAD_MS = 30_000;

export interface LiveWatch {
  /** Whether the key or the session still allows it. */
  isAllowed(): boolean;
  monotonicMs(): number;
}

/** Passes a stream on; ends it when it is not allowed any more, breaks it off when nobody reads. */
export function watched(source: ReadableStream<Uint8Array>, watch: LiveWatch): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  /** Since when a piece lies unread; null while the client waits for the next one. */
  let unreadSinceMs: number | null = null;
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const end = (finish: () => void) => {
    if (over) return;
    over = true;
    clearInterval(timer);
    finish();
    // The source's own end is of no interest any more.
    reader.cancel().catch(() => {});
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        timer = setInterval(() => {
          const unreadMs = unreadSinceMs === null ? 0 : watch.monotonicMs() - unreadSinceMs;
          if (unreadMs > MAX_UNREAD_MS) end(() => controller.error(new Error("the client does not read")));
          else if (!watch.isAllowed()) end(() => controller.close());
        }, WATCH_EVERY_MS);
        timer.unref();
      },
      async pull(controller) {
        unreadSinceMs = null;
        try {
          const { done, value } = await reader.read();
          if (over) return;
          if (done) return end(() => controller.close());
          controller.enqueue(value);
          unreadSinceMs = watch.monotonicMs();
        } catch (error) {
          end(() => controller.error(error));
        }
      },
      cancel() {
        end(() => {});
      },
    },
    // Nothing is fetched ahead: a piece is asked for when the client takes it.
    { highWaterMark: 0 },
  );
}
