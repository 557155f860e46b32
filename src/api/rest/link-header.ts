/** The `Link` header of a list (RFC 8288). */

export interface ListPosition {
  /** Absent if the list is read by cursor, which has only a first and a next page. */
  page?: number | undefined;
  pageSize: number;
  /** The items on all pages. Present with `page`. */
  total?: number;
  nextCursor?: string | null;
}

/** In characters. Links repeat the query, which may be long, and clients limit the size of response headers. */
const MAX_LENGTH = 8_000;

/** Returns the `Link` header for a page of `url`, or no header if it would be too long. */
export function linkHeader(url: string, page: ListPosition): Record<string, string> {
  const links = pageLinks(url, page);
  return links.length > MAX_LENGTH ? {} : { Link: links };
}

function pageLinks(url: string, { page, pageSize, total = 0, nextCursor = null }: ListPosition): string {
  if (page === undefined) {
    const link = createLinkBuilder(url, "cursor");
    return nextCursor === null ? link(null, "first") : `${link(null, "first")}, ${link(nextCursor, "next")}`;
  }
  const link = createLinkBuilder(url, "page");
  const last = Math.max(1, Math.ceil(total / pageSize));
  const links = [link(1, "first")];
  if (page > 1) links.push(link(Math.min(page - 1, last), "prev"));
  if (page < last) links.push(link(page + 1, "next"));
  links.push(link(last, "last"));
  return links.join(", ");
}

/** Returns a function that links to `url` with the parameter `name` replaced, or removed for null. Values are not escaped. */
function createLinkBuilder(
  url: string,
  name: string,
): (value: string | number | null, relation: string) => string {
  const queryStart = url.indexOf("?");
  const path = queryStart === -1 ? url : url.slice(0, queryStart);
  const parameters = new URLSearchParams(queryStart === -1 ? "" : url.slice(queryStart + 1));
  parameters.delete(name);
  const others = parameters.toString();
  return (value, relation) => {
    const replaced = value === null ? "" : `${name}=${value}`;
    const query = [others, replaced].filter((part) => part !== "").join("&");
    return `<${path}${query === "" ? "" : `?${query}`}>; rel="${relation}"`;
  };
}
