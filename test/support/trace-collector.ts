/** A trace collector: receives OTLP over HTTP in JSON and keeps all spans. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createLogger, type Logger } from "../../src/core/logger.ts";
import { openTracing } from "../../src/core/tracing/sdk.ts";
import type { Tracing } from "../../src/core/tracing/tracing.ts";
import { eventually } from "./eventually.ts";

export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Null for a root span. */
  readonly parentId: string | null;
  /** OTLP number: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly isFailed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { traceId: string; spanId: string }[];
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export type TraceCollector = Awaited<ReturnType<typeof startTraceCollector>>;

interface OtlpValue {
  stringValue?: string;
  intValue?: number;
  boolValue?: boolean;
  doubleValue?: number;
}

interface OtlpAttributes {
  attributes?: { key: string; value: OtlpValue }[];
}

interface OtlpSpan extends OtlpAttributes {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  status?: { code?: number };
  links?: { traceId: string; spanId: string }[];
}

interface OtlpRequest {
  resourceSpans: { resource: OtlpAttributes; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

export async function startTraceCollector() {
  const posts: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "", headers } = request;
    posts.push({ path, headers, body: await text(request) });
    if (collector.status !== null)
      response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  };
  const server = createServer(
    (request, response) => void handle(request, response).catch(() => response.destroy()),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const spans = (): CollectedSpan[] =>
    posts.flatMap(({ body }) => parseSpans(JSON.parse(body) as OtlpRequest));
  const collector = {
    /** Value for OTEL_EXPORTER_OTLP_ENDPOINT. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    /** Response status. Null: never responds. */
    status: 200 as number | null,
    spans,
    /** Resolves with the trace of this request once it has the request's span and a span that matches `isMatch`. */
    waitForTrace: (
      requestId: string,
      isMatch: (span: CollectedSpan) => boolean = () => true,
    ): Promise<CollectedSpan[]> =>
      eventually(() => {
        const root = spans().find(({ attributes }) => attributes["waymark.request.id"] === requestId);
        const traceSpans = spans().filter(({ traceId }) => traceId === root?.traceId);
        if (!traceSpans.some(isMatch))
          throw new Error(`No matching span among ${JSON.stringify(spans().map(({ name }) => name))}`);
        return traceSpans;
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return collector;
}

/** Opens tracing of this process that sends to the collector every 10 ms. Only one can be open at a time. */
export function openTracingTo(
  { url }: Pick<TraceCollector, "url">,
  { ratio = 1, logger = createLogger("silent") }: { ratio?: number; logger?: Logger } = {},
): Tracing {
  const settings = { url: `${url}/v1/traces`, headers: {}, resource: {}, ratio };
  return openTracing(settings, logger, 10);
}

/** Returns the spans from the root span to `span`. */
export function spanPath(span: CollectedSpan, spans: readonly CollectedSpan[]): CollectedSpan[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentId);
  return parent ? [...spanPath(parent, spans), span] : [span];
}

function parseSpans({ resourceSpans }: OtlpRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => toSpan(span, parseAttributes(resource)))),
  );
}

function toSpan(span: OtlpSpan, resource: Record<string, unknown>): CollectedSpan {
  const { name, traceId, spanId, kind, links = [] } = span;
  return {
    name,
    traceId,
    spanId,
    parentId: span.parentSpanId ?? null,
    kind,
    isFailed: span.status?.code === 2,
    attributes: parseAttributes(span),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    resource,
  };
}

function parseAttributes({ attributes = [] }: OtlpAttributes): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue,
    ]),
  );
}
