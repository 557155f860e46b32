/** `/metrics` on a separate port (METRICS_PORT), so that publishing the API does not publish the metrics. */
import type { RequestListener } from "node:http";
import type { Registry } from "prom-client";
import { singleFlight } from "../../platform/concurrency/single-flight.ts";

/** Returns a listener that serves only GET and HEAD of `/metrics`. */
export function metricsListener(registry: Registry): RequestListener {
  const collectMetrics = singleFlight(() => registry.metrics(), { ttlMs: 0 });
  return (request, response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (request.url !== "/metrics" || !isRead) {
      response.writeHead(isRead ? 404 : 405).end();
      return;
    }
    collectMetrics().then(
      (text) => response.writeHead(200, { "Content-Type": registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}
