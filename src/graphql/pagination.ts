/** Connections: from the arguments of a page to the page, and from its rows to what is answered. */
import { invalidArgument } from "./invalid-argument.ts";
import { DEFAULT_PAGE_SIZE } from "./execution/limits.ts";

export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** A page to be read. Sizes are within bounds: `limits.ts` has refused others before anything ran. */
export interface PageRequest {
  readonly direction: "forward" | "backward";
  readonly limit: number;
  /** As it was given. */
  readonly cursor: string | null;
}

export function pageRequest({ first, after, last, before }: PageArguments): PageRequest {
  if (last === null || last === undefined) {
    if (typeof before === "string") throw invalidArgument("before", "goes with last; with first it is after");
    return { direction: "forward", limit: first ?? DEFAULT_PAGE_SIZE, cursor: after ?? null };
  }
  if (typeof after === "string") throw invalidArgument("after", "goes with first; with last it is before");
  return { direction: "backward", limit: last, cursor: before ?? null };
}

/** Hands a cursor to its reader. Throws BadRequestException for one that is none of this list's. */
export function readCursor<Position>(
  { cursor, direction }: PageRequest,
  read: (text: string) => Position | null,
): Position | null {
  if (cursor === null) return null;
  const position = read(cursor);
  if (position !== null) return position;
  throw invalidArgument(
    direction === "forward" ? "after" : "before",
    "is no cursor of this list in this order; use one as it came",
  );
}

export interface ConnectionNode<Node> {
  readonly nodes: readonly Node[];
  readonly edges: readonly { cursor: string; node: Node }[];
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

interface Page<Row, Node> {
  readonly items: readonly Row[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  readonly toNode: (row: Row) => Node;
  readonly cursorOf: (row: Row) => string;
  /** The cursor for the next page, if it is not that of the last item. */
  readonly endCursor?: string | null;
}

/** A page without items that ends at `endCursor`. */
export function emptyConnection(endCursor: string): ConnectionNode<never> {
  const pageInfo = { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor };
  return { nodes: [], edges: [], pageInfo };
}

export function toConnection<Row, Node>(page: Page<Row, Node>): ConnectionNode<Node> {
  return new LazyConnection(page);
}

/** Cursors are made only where somebody asks for them, and once: compiled operations read a field again and again. */
class LazyConnection<Row, Node> implements ConnectionNode<Node> {
  readonly nodes: readonly Node[];
  readonly #page: Page<Row, Node>;
  #edges: ConnectionNode<Node>["edges"] | undefined;
  #pageInfo: ConnectionNode<Node>["pageInfo"] | undefined;

  constructor(page: Page<Row, Node>) {
    this.nodes = page.items.map(page.toNode);
    this.#page = page;
  }

  get edges(): ConnectionNode<Node>["edges"] {
    return (this.#edges ??= this.nodes.map((node, at) => ({ cursor: this.#cursorAt(at) as string, node })));
  }

  get pageInfo(): ConnectionNode<Node>["pageInfo"] {
    return (this.#pageInfo ??= {
      hasNextPage: this.#page.hasNext,
      hasPreviousPage: this.#page.hasPrevious,
      startCursor: this.#cursorAt(0),
      endCursor: this.#page.endCursor ?? this.#cursorAt(this.nodes.length - 1),
    });
  }

  #cursorAt(index: number): string | null {
    const row = this.#page.items[index];
    return row === undefined ? null : this.#page.cursorOf(row);
  }
}
