/** The `Link` header of a list (RFC 8288). */

interface ListPosition {
  /** Null: read by cursor, so that there is only a next page. */
  page: number | null;
  pageSize: number;
  total: number;
  nextCursor: string | null;
}

/** A query can be as long as a request's headers; links that repeat it must not outgrow what a client reads of an answer. */
const MAX_LENGTH = 8_000;

/** The `Link` header for a page of `url`; none where it would grow too long. */
export function linkHeader(url: string, page: ListPosition): Record<string, string> {
  const links = pageLinks(url, page);
  return links.length > MAX_LENGTH ? {} : { Link: links };
}

/** Links to the first, previous, next and last page: `url` with its page or cursor replaced. */
function pageLinks(url: string, { page, pageSize, total, nextCursor }: ListPosition): string {
  if (page === null) {
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

/** A maker of links to `url` with the parameter `name` set anew, or left out. Its values need no escaping. */
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
    const own = value === null ? "" : `${name}=${value}`;
    const query = [others, own].filter((part) => part !== "").join("&");
    return `<${path}${query === "" ? "" : `?${query}`}>; rel="${relation}"`;
  };
}
