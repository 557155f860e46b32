/** The 503 response of an overloaded server. Only its request ID is not prepared in advance, to save CPU time. */
import type { IncomingMessage, RequestListener } from "node:http";
import { newRequestId } from "../../core/ids.ts";
import { errorJson, JSON_CONTENT_TYPE } from "../json.ts";
import { defaultHeaders } from "../default-headers.ts";

export interface RejectionDeps {
  corsOrigins: readonly string[];
  /** Origins whose pages may call GraphQL. */
  graphqlOrigins: readonly string[];
  stopping: AbortSignal;
  /** Returns the URL of the section of the guide about an error code. */
  errorUrl: (code: string) => string;
}

const GRAPHQL_PATH = /^\/graphql(?:[/?]|$)/;
const GRAPHQL_TYPE = "application/graphql-response+json";
const MESSAGE = "The server is overloaded. Try again shortly.";
/** Replaced by the request ID. */
const REQUEST_ID_PLACEHOLDER = "0".repeat(newRequestId().length);
/** Chosen at random, so that rejected clients don't all retry at the same time. */
const RETRY_AFTER_S = ["1", "2", "3"];

interface PreparedResponse {
  readonly before: string;
  readonly after: string;
  readonly headers: readonly string[];
}

const baseHeaders = defaultHeaders().flat();

function prepareResponses(errorUrl: RejectionDeps["errorUrl"]) {
  const code = "ServiceUnavailableException";
  const extensions = {
    code: "SERVICE_UNAVAILABLE",
    requestId: REQUEST_ID_PLACEHOLDER,
    docUrl: errorUrl("SERVICE_UNAVAILABLE"),
  };
  const graphqlJson = JSON.stringify({ errors: [{ message: MESSAGE, extensions }] });
  return {
    rest: prepareResponse(
      errorJson(REQUEST_ID_PLACEHOLDER, { code, message: MESSAGE, details: null, doc_url: errorUrl(code) }),
      JSON_CONTENT_TYPE,
    ),
    graphqlAsJson: prepareResponse(graphqlJson, JSON_CONTENT_TYPE),
    graphql: prepareResponse(graphqlJson, `${GRAPHQL_TYPE}; charset=utf-8`),
  };
}

function prepareResponse(text: string, type: string): PreparedResponse {
  const [before = "", after = ""] = text.split(REQUEST_ID_PLACEHOLDER);
  const length = String(Buffer.byteLength(text));
  return { before, after, headers: [...baseHeaders, "Content-Type", type, "Content-Length", length] };
}

/** Returns a listener that responds 503. Node discards the rest of the request, so the connection stays usable. */
export function createRejectionHandler({
  corsOrigins,
  graphqlOrigins,
  stopping,
  errorUrl,
}: RejectionDeps): RequestListener {
  // Prepared by the first rejection: before the server listens, its URL may be unknown.
  let prepared: ReturnType<typeof prepareResponses> | undefined;
  return (request, response) => {
    prepared ??= prepareResponses(errorUrl);
    const isGraphql = GRAPHQL_PATH.test(request.url ?? "");
    const { headers, before, after } = prepared[isGraphql ? negotiateGraphql(request) : "rest"];
    const requestId = newRequestId();
    const retryAfter = RETRY_AFTER_S[Math.floor(Math.random() * RETRY_AFTER_S.length)] as string;
    const all = [...headers, "Retry-After", retryAfter, "X-Request-Id", requestId];
    const { origin } = request.headers;
    if (origin !== undefined) all.push(...corsHeaders(origin, isGraphql ? graphqlOrigins : corsOrigins));
    if (stopping.aborted) all.push("Connection", "close");
    response.writeHead(503, all);
    response.end(before + requestId + after);
  };
}

/** Returns the name of the response in the media type that `Accept` names first. */
function negotiateGraphql({ headers: { accept = "" } }: IncomingMessage): "graphql" | "graphqlAsJson" {
  const graphqlIndex = accept.indexOf(GRAPHQL_TYPE);
  const jsonIndex = accept.indexOf("application/json");
  return graphqlIndex === -1 || (jsonIndex !== -1 && jsonIndex < graphqlIndex) ? "graphqlAsJson" : "graphql";
}

/** Lets pages of allowed origins read the error. */
function corsHeaders(origin: string, allowed: readonly string[]): string[] {
  if (!allowed.includes(origin)) return ["Vary", "Origin"];
  const exposed = "Retry-After,X-Request-Id";
  return ["Vary", "Origin", "Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", exposed];
}
