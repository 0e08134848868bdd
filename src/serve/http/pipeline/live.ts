/** The body of a live response, which ends when its client may no longer see it or does not read it. */

/** How often the right to see it and the reading are checked, ms. */
const WATCH_EVERY_MS = 1_000;
/** How long a client may leave data unread before its stream is closed, ms. */
const MAX_UNREAD_MS = 30_000;

/**
 * Forwards a stream. Ends it when the key or the session does not allow it any more, and aborts it when the client
 * does not read.
 */
export function watched(
  source: ReadableStream<Uint8Array>,
  watch: { isAllowed(): Promise<boolean>; monotonicMs(): number },
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  /** When the last piece was enqueued; null while the client waits for the next one. */
  let unreadSinceMs: number | null = null;
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const end = (finish: () => void) => {
    if (over) return;
    over = true;
    clearInterval(timer);
    finish();
    // Errors of the source no longer matter.
    reader.cancel().catch(() => {});
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const close = (allowed: boolean) => {
          if (!allowed) end(() => controller.close());
        };
        const fail = (error: unknown) => end(() => controller.error(error));
        timer = setInterval(() => {
          const unreadMs = unreadSinceMs === null ? 0 : watch.monotonicMs() - unreadSinceMs;
          if (unreadMs > MAX_UNREAD_MS) fail(new Error("the client does not read"));
          else watch.isAllowed().then(close, fail);
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
    // Nothing is read ahead: a piece is read when the client takes it.
    { highWaterMark: 0 },
  );
}
