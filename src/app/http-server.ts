/** The lifecycle of the HTTP servers: listen, drain, close. */
import type { RequestListener } from "node:http";
import type { AppContext } from "./context.ts";
import type { GraphqlAdapter } from "../api/graphql/server.ts";
import { metricsListener } from "../api/ops/routes.ts";
import type { ExceededLimit } from "../api/server/connection-limits.ts";
import { listen, type HttpServer } from "../api/server/server.ts";

interface HttpServerOptions {
  graphql: Pick<GraphqlAdapter, "webSockets"> | null;
  /** Called with the server's URL once it listens. */
  setListenUrl: (url: string) => void;
  /** Returns the URL of the section of the guide about an error code. */
  errorUrl: (code: string) => string;
}

/** Disposing closes the servers after answering the accepted requests. */
export function createServerHandle(
  { config, registry, metrics }: AppContext,
  { graphql, setListenUrl, errorUrl }: HttpServerOptions,
) {
  const stopping = new AbortController();
  let server: HttpServer | null = null;
  let metricsServer: HttpServer | null = null;
  const listenOptions = {
    ...config.http,
    errorUrl,
    timeouts: { keepAlive: config.http.keepAliveMs },
    onConnectionRejected: (limit: ExceededLimit) => metrics.connectionsRejected.inc({ limit }),
  };

  return {
    /** Aborted once the server drains or closes. */
    stopping: stopping.signal,
    /** Starts the servers and returns the main server's URL. */
    async listen(handler: RequestListener): Promise<string> {
      server = await listen(handler, listenOptions, graphql?.webSockets ?? null);
      const { metricsPort } = config.http;
      if (metricsPort !== null)
        metricsServer = await listen(metricsListener(registry), { ...listenOptions, port: metricsPort });
      setListenUrl(server.url);
      return server.url;
    },
    /** Makes readiness fail and closes each connection after its response. The server still accepts requests. */
    startDraining: (): void => stopping.abort(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await server?.stop();
      await metricsServer?.stop();
    },
  };
}
