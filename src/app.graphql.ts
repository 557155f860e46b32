/** The composition of GraphQL: its own connections for reading, the schema over the services, and both of its doors. */
import type { Registry } from "prom-client";
import type { KeyVerifier } from "./api-keys/api-key.verifier.ts";
import type { RateLimits } from "./api-keys/rate-limit.ts";
import type { Config } from "./config/config.ts";
import { entities } from "./entities.ts";
import { createEventTail } from "./events/event.tail.ts";
import type { ReplicaReads } from "./app.replicas.ts";
import { createContextFactory, type GraphqlServices, type OperationCall } from "./graphql/context.ts";
import type { HttpDoor } from "./graphql/http-door.ts";
import { jobsCsvRoutes } from "./graphql/jobs-csv.ts";
import { createSchema } from "./graphql/schema.ts";
import { createGraphql, type Graphql } from "./graphql/server.ts";
import type { Sessions } from "./graphql/sessions.ts";
import { createSubscriptions, type Subscriptions } from "./graphql/subscriptions.ts";
import { openDatabase, type Queryable } from "./platform/database.ts";
import type { Logger } from "./platform/logger.ts";
import type { Viewer } from "./platform/principal.ts";
import type { Tracing } from "./platform/tracing.ts";

export interface GraphqlParts {
  config: Config;
  databaseUrl: string;
  services: Omit<GraphqlServices, "tail" | "rateLimits">;
  verifier: KeyVerifier;
  sessions: Sessions;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  replicas: Pick<ReplicaReads, "connect">;
  logger: Logger;
  registry: Registry;
  tracing?: Tracing | undefined;
}

export interface GraphqlPart extends AsyncDisposable {
  readonly door: Graphql;
  readonly webSockets: Subscriptions;
}

/**
 * So that no query starves REST, and none runs for longer than a person waits. Each statement is planned for its values:
 * filters come in every shape, and a plan for all of them would suit none.
 */
const SESSION = { statement_timeout: "5000", plan_cache_mode: "auto" };

/** Disposing expects that both doors are shut. */
export async function openGraphql(parts: GraphqlParts): Promise<GraphqlPart> {
  const { config, databaseUrl, logger, tracing } = parts;
  await using opened = new AsyncDisposableStack();
  const { poolSize } = config.database;
  const options = { url: databaseUrl, poolSize, entities, session: SESSION, tracing };
  const database = opened.use(await openDatabase(options));
  const readsFor = await parts.replicas.connect(SESSION);
  const tail = opened.use(createEventTail({ database, databaseUrl, logger }));
  const contextFactory = createContextFactory({
    ...parts.services,
    tail,
    rateLimits: parts.limits,
  });
  const schema = createSchema();
  const readsOf = (viewer: Viewer, signal: AbortSignal): Queryable =>
    readsFor(database.until(signal), viewer, signal);
  const adapterParts = {
    ...parts,
    schema,
    beside: (door: HttpDoor) => jobsCsvRoutes({ ...parts, schema, readsOf }, door),
    makeContext: (request: OperationCall) => {
      const { signal } = request;
      const reading = database.until(signal);
      return contextFactory({
        ...request,
        database: reading,
        readsOf: (viewer) => readsFor(reading, viewer, signal),
      });
    },
    environment: config.environment,
    publicUrl: config.http.publicUrl,
    http: config.http,
  };
  const door = opened.use(await createGraphql(adapterParts));
  const webSockets = opened.use(createSubscriptions(adapterParts));
  const held = opened.move();
  return { door, webSockets, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
