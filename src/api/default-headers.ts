/** Headers of every response, and the policy of HTML pages. */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import helmet from "helmet";

/**
 * Returns Helmet's security headers for an API and `Cache-Control: no-store`. Helmet runs only once, because its headers are
 * always the same and running it per request is slow.
 */
export function defaultHeaders(): [name: string, value: string][] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const setHeaders = helmet({
    contentSecurityPolicy: {
      directives: {
        defaultSrc: ["'none'"],
        // `default-src` does not apply to these three.
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
      useDefaults: false,
    },
  });
  setHeaders(request, response, () => undefined);
  response.setHeader("Cache-Control", "no-store");
  return Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]);
}

/** What a page that loads only from this origin may do. Icons may be `data:` URLs. */
const PAGE_DIRECTIVES = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data:",
  "connect-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

/** Returns the Content-Security-Policy of a page. `changes`: other sources of some directives. */
export function pagePolicy(changes: Readonly<Record<string, string>> = {}): string {
  const directives = Object.entries({ ...PAGE_DIRECTIVES, ...changes });
  return directives.map(([name, sources]) => `${name} ${sources}`).join("; ");
}
