/** Iterates lists over their cursors or page numbers. */

/** The most items per request. */
export const MAX_PAGE_SIZE = 100;

interface CursorPage<Item> {
  items: Item[];
  pagination: { next_cursor: string | null };
}

/** Yields each item. `read` gets the cursor of the page, undefined for the first. */
export async function* itemsByCursor<Item>(
  read: (cursor: string | undefined) => PromiseLike<CursorPage<Item>>,
): AsyncGenerator<Item, void, void> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield* page.items;
    cursor = page.pagination.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

interface NumberedPage<Item> {
  items: Item[];
  pagination: { page: number; page_size: number; total: number };
}

/** Yields each item once, although new items at the start of the list move others to the next page. */
export async function* itemsByPage<Item extends { id: string }>(
  read: (page: number) => PromiseLike<NumberedPage<Item>>,
): AsyncGenerator<Item, void, void> {
  const seen = new Set<string>();
  for (let page = 1; ; page += 1) {
    const { items, pagination } = await read(page);
    for (const item of items) {
      if (!seen.has(item.id)) yield item;
      seen.add(item.id);
    }
    if (page * pagination.page_size >= pagination.total) return;
  }
}
