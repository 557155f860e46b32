/** The headers that stand on every answer. */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import helmet from "helmet";

/**
 * Helmet's security headers for an API, and that nobody keeps an answer: it is one organisation's own. Helmet is asked
 * once, since it would say the same every time in a dozen steps.
 */
export function defaultHeaders(): [name: string, value: string][] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const setHeaders = helmet({
    contentSecurityPolicy: {
      directives: {
        defaultSrc: ["'none'"],
        // These three do not follow `default-src`.
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
