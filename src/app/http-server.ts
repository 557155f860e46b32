/** The service's door: how it opens, how it says that it is going to be shut, and how it is. */
import type { RequestListener } from "node:http";
import type { Registry } from "prom-client";
import type { GraphqlModule } from "./graphql.ts";
import type { Config } from "../config/config.ts";
import { metricsListener } from "../http/ops/metrics-listener.ts";
import { withLoadShedding } from "../http/load-shedding/middleware.ts";
import { listen, type HttpServer } from "../http/server/server.ts";
import type { Logger } from "../platform/logger.ts";
import type { Metrics } from "../platform/metrics.ts";

export interface HttpServerDeps {
  config: Config;
  logger: Logger;
  registry: Registry;
  metrics: Pick<Metrics, "connectionsRejected">;
  graphql: Pick<GraphqlModule, "webSockets"> | null;
  /** Told the address once it is open. */
  setListenUrl: (url: string) => void;
}

/** Disposing shuts it: what was accepted is answered. */
export interface ServerHandle extends AsyncDisposable {
  /** Answers with the address. */
  listen(handler: RequestListener): Promise<string>;
  /** From now on readiness says no, and answers ask for their connection to be closed; but it stays open. */
  startDraining(): void;
  isStopping(): boolean;
}

export function createServerHandle({
  config,
  logger,
  registry,
  metrics,
  graphql,
  setListenUrl,
}: HttpServerDeps): ServerHandle {
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
    onConnectionRejected: (bound: "total" | "address") => metrics.connectionsRejected.inc({ bound }),
  };

  return {
    isStopping,
    async listen(handler) {
      const guarded = config.http.loadShedding ? withLoadShedding(handler, sheddingOptions) : handler;
      server = await listen(guarded, listenOptions, graphql?.webSockets ?? null);
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
