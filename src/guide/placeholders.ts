/** What the server must know of the built guide: a file, and the texts that it replaces. */

/** The page for unknown paths. No path of a page has an underscore, so it is never sent as a page. */
export const NOT_FOUND_FILE = "_not-found.html";

/** The base URL in samples. Replaced by that of the server, so that samples can be copied as they are. */
export const SAMPLE_BASE_URL = "http://127.0.0.1:4000";

/** A link to Apollo Sandbox, which only works outside production. Nothing else in a page has this class. */
export const SANDBOX_LINK = /<a class="sandbox"[^>]*>[^<]*<\/a>/g;

/** The URL of the guide in the page for unknown paths, which is sent at any depth. */
export const GUIDE_URL_PLACEHOLDER = "WAYMARK_GUIDE";
