/** Parses page arguments and builds connections from rows. */
import type { ListCursor } from "../../core/cursor.ts";
import { invalidArgument } from "../../core/errors.ts";
import type { PageRequest as PageRange } from "../../core/postgres/list-page.ts";
import { DEFAULT_PAGE_SIZE } from "./execution/limits.ts";
import type { PageInfo } from "./generated/schema-types.ts";

export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** A page to read. The operation guard has already checked its size. */
export interface PageRequest {
  readonly direction: "forward" | "backward";
  readonly limit: number;
  /** Not decoded yet. */
  readonly cursor: string | null;
}

/** Throws BadRequestException for `before` without `last`, and for `after` with `last`. */
export function pageRequest({ first, after, last, before }: PageArguments): PageRequest {
  if (last === null || last === undefined) {
    if (typeof before === "string") throw invalidArgument("before", "requires last; with first, use after");
    return { direction: "forward", limit: first ?? DEFAULT_PAGE_SIZE, cursor: after ?? null };
  }
  if (typeof after === "string") throw invalidArgument("after", "requires first; with last, use before");
  return { direction: "backward", limit: last, cursor: before ?? null };
}

/** Returns the decoded cursor, or null without one. Throws BadRequestException if `read` returns null. */
export function readCursor<Position>(
  { cursor, direction }: Pick<PageRequest, "cursor" | "direction">,
  read: (text: string) => Position | null,
): Position | null {
  if (cursor === null) return null;
  const position = read(cursor);
  if (position !== null) return position;
  throw invalidArgument(
    direction === "forward" ? "after" : "before",
    "is not a cursor of this list in this order; pass a cursor unchanged",
  );
}

interface Page<Row, Node> {
  readonly items: readonly Row[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  readonly toNode: (row: Row) => Node;
  readonly cursorOf: (row: Row) => string;
  /** Overrides the last item's cursor. */
  readonly endCursor?: string | null;
  /** Absent unless it was selected. */
  readonly total?: number | null | undefined;
}

interface ForwardList<Row, Node> {
  readonly cursor: ListCursor<Row>;
  readonly list: (
    page: PageRange,
  ) => Promise<{ items: readonly Row[]; hasMore: boolean; total?: number | null | undefined }>;
  readonly toNode: (row: Row) => Node;
}

/** Lists one page of a list whose cursors are ids. Throws BadRequestException for an invalid cursor. */
export async function listConnection<Row, Node>(
  args: PageArguments,
  { cursor, list, toNode }: ForwardList<Row, Node>,
): Promise<Connection<Row, Node>> {
  const page = pageRequest(args);
  const after = readCursor(page, cursor.decode);
  const { items, hasMore, total } = await list({ limit: page.limit, after });
  return new Connection({
    items,
    hasNext: hasMore,
    hasPrevious: after !== null,
    toNode,
    cursorOf: cursor.encode,
    total,
  });
}

/** Builds cursors only if selected, and once: compiled operations read a property several times. */
export class Connection<Row, Node> {
  readonly nodes: readonly Node[];
  readonly totalCount: number;
  readonly #page: Page<Row, Node>;
  #edges: { cursor: string; node: Node }[] | undefined;
  #pageInfo: PageInfo | undefined;

  constructor(page: Page<Row, Node>) {
    this.nodes = page.items.map(page.toNode);
    this.totalCount = page.total ?? 0;
    this.#page = page;
  }

  get edges(): readonly { cursor: string; node: Node }[] {
    const { items, cursorOf } = this.#page;
    return (this.#edges ??= items.map((row, index) => ({
      cursor: cursorOf(row),
      node: this.nodes[index] as Node,
    })));
  }

  get pageInfo(): PageInfo {
    const { items, hasNext, hasPrevious, endCursor } = this.#page;
    return (this.#pageInfo ??= {
      hasNextPage: hasNext,
      hasPreviousPage: hasPrevious,
      startCursor: this.#cursorOf(items[0]),
      endCursor: endCursor ?? this.#cursorOf(items.at(-1)),
    });
  }

  #cursorOf(row: Row | undefined): string | null {
    return row === undefined ? null : this.#page.cursorOf(row);
  }
}
