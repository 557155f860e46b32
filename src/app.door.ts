/** The service's door: how it opens, how it says that it is going to be shut, and how it is. */
import type { RequestListener } from "node:http";
import type { Registry } from "prom-client";
import type { GraphqlPart } from "./app.graphql.ts";
import type { Config } from "./config/config.ts";
import { metricsListener } from "./http/ops/metrics.listener.ts";
import { refuseOverload } from "./http/overload/overload.door.ts";
import { listen, type HttpServer } from "./http/server.ts";
import type { Logger } from "./platform/logger.ts";
import type { Metrics } from "./platform/metrics.ts";

export interface DoorParts {
  config: Config;
  logger: Logger;
  registry: Registry;
  metrics: Pick<Metrics, "connectionsRefused">;
  graphql: Pick<GraphqlPart, "webSockets"> | null;
  /** Told the address once it is open. */
  listensAt: (url: string) => void;
}

/** Disposing shuts it: what was accepted is answered. */
export interface ServiceDoor extends AsyncDisposable {
  /** Answers with the address. */
  open(handler: RequestListener): Promise<string>;
  /** From now on readiness says no, and answers ask for their connection to be closed; but it stays open. */
  announceStop(): void;
  isStopping(): boolean;
}

export function createDoor({
  config,
  logger,
  registry,
  metrics,
  graphql,
  listensAt,
}: DoorParts): ServiceDoor {
  let stopping = false;
  let server: HttpServer | null = null;
  let metricsServer: HttpServer | null = null;
  const isStopping = (): boolean => stopping;
  const overload = { ...config.http, poolSize: config.database.poolSize, logger, registry, isStopping };
  const place = {
    ...config.http,
    patience: { keepAlive: config.http.keepAliveMs },
    onConnectionRefused: (bound: "total" | "address") => metrics.connectionsRefused.inc({ bound }),
  };

  return {
    isStopping,
    async open(handler) {
      const guarded = config.http.overloadProtection ? refuseOverload(handler, overload) : handler;
      server = await listen(guarded, place, graphql?.webSockets ?? null);
      const { metricsPort } = config.http;
      if (metricsPort !== null)
        metricsServer = await listen(metricsListener(registry), { ...place, port: metricsPort });
      listensAt(server.url);
      return server.url;
    },
    announceStop() {
      stopping = true;
    },
    async [Symbol.asyncDispose]() {
      stopping = true;
      await server?.stop();
      await metricsServer?.stop();
    },
  };
}
