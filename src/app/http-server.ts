/** The lifecycle of the HTTP servers: listen, drain, close. */
import type { RequestListener } from "node:http";
import type { AppContext } from "./context.ts";
import type { GraphqlModule } from "./graphql.ts";
import { metricsListener } from "../http/ops/metrics-listener.ts";
import { withLoadShedding } from "../http/load-shedding/middleware.ts";
import type { ExceededLimit } from "../http/server/connection-limits.ts";
import { listen, type HttpServer } from "../http/server/server.ts";

interface HttpServerOptions {
  graphql: Pick<GraphqlModule, "webSockets"> | null;
  /** Called with the server's URL once it listens. */
  setListenUrl: (url: string) => void;
}

/** Disposing closes the servers after answering the accepted requests. */
export interface ServerHandle extends AsyncDisposable {
  /** Starts the servers and returns the main server's URL. */
  listen(handler: RequestListener): Promise<string>;
  /** Makes readiness fail and closes each connection after its response. The server still accepts requests. */
  startDraining(): void;
  isStopping(): boolean;
}

export function createServerHandle(
  { config, logger, registry, metrics }: AppContext,
  { graphql, setListenUrl }: HttpServerOptions,
): ServerHandle {
  let stopping = false;
  let server: HttpServer | null = null;
  let metricsServer: HttpServer | null = null;
  const isStopping = (): boolean => stopping;
  const sheddingOptions = {
    ...config.http,
    poolSize: config.database.poolSize,
    logger,
    registry,
    isStopping,
  };
  const listenOptions = {
    ...config.http,
    timeouts: { keepAlive: config.http.keepAliveMs },
    onConnectionRejected: (limit: ExceededLimit) => metrics.connectionsRejected.inc({ limit }),
  };

  return {
    isStopping,
    async listen(handler) {
      const listener = config.http.loadShedding ? withLoadShedding(handler, sheddingOptions) : handler;
      server = await listen(listener, listenOptions, graphql?.webSockets ?? null);
      const { metricsPort } = config.http;
      if (metricsPort !== null)
        metricsServer = await listen(metricsListener(registry), { ...listenOptions, port: metricsPort });
      setListenUrl(server.url);
      return server.url;
    },
    startDraining() {
      stopping = true;
    },
    async [Symbol.asyncDispose]() {
      stopping = true;
      await server?.stop();
      await metricsServer?.stop();
    },
  };
}
