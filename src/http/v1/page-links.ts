/** The `Link` header of a list (RFC 8288). */

interface Page {
  /** Null: read by cursor, so that there is only a next page. */
  page: number | null;
  pageSize: number;
  total: number;
  nextCursor: string | null;
}

/** A query can be as long as a request's headers; links that repeat it must not outgrow what a client reads of an answer. */
const MAX_LENGTH = 8_000;

/** The `Link` header for a page of `url`; none where it would grow too long. */
export function linkHeader(url: string, page: Page): Record<string, string> {
  const links = pageLinks(url, page);
  return links.length > MAX_LENGTH ? {} : { Link: links };
}

/** Links to the first, previous, next and last page: `url` with its page or cursor replaced. */
function pageLinks(url: string, { page, pageSize, total, nextCursor }: Page): string {
  if (page === null) {
    const next = nextCursor === null ? [] : [link(url, "cursor", nextCursor, "next")];
    return [link(url, "cursor", null, "first"), ...next].join(", ");
  }
  const last = Math.max(1, Math.ceil(total / pageSize));
  const links = [link(url, "page", "1", "first")];
  if (page > 1) links.push(link(url, "page", String(Math.min(page - 1, last)), "prev"));
  if (page < last) links.push(link(url, "page", String(page + 1), "next"));
  links.push(link(url, "page", String(last), "last"));
  return links.join(", ");
}

function link(url: string, name: string, value: string | null, relation: string): string {
  const [path = "", ...query] = url.split("?");
  const parameters = new URLSearchParams(query.join("?"));
  parameters.delete(name);
  if (value !== null) parameters.set(name, value);
  const text = parameters.toString();
  return `<${path}${text === "" ? "" : `?${text}`}>; rel="${relation}"`;
}
