/** Requests for many things. */

/** How many are made at the same time. */
const AT_ONCE = 4;

/** Does something with each item, some at the same time. */
export async function eachOf<Item>(
  items: readonly Item[],
  act: (item: Item, at: number) => Promise<void>,
): Promise<void> {
  const waiting = items.entries();
  const work = async () => {
    for (const [at, item] of waiting) await act(item, at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
