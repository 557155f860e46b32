/** Composes GraphQL: its own database pool, the schema, and the adapter. */
import type { KeyVerifier } from "../api-keys/api.ts";
import type { RateLimits } from "../rate-limits/api.ts";
import type { AppContext } from "./context.ts";
import { EventTail } from "../events/api.ts";
import type { ReplicaReaders } from "./replicas.ts";
import { createContext } from "../api/graphql/context.ts";
import { jobsCsvRoutes } from "../api/graphql/jobs-csv.routes.ts";
import { createSchema } from "../api/graphql/schema.ts";
import { createGraphqlAdapter, type GraphqlAdapter, type GraphqlAdapterDeps } from "../api/graphql/server.ts";
import type { GraphqlServices } from "../api/graphql/services.ts";
import type { SessionVerifier } from "../accounts/api.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Principal } from "../core/principal.ts";

interface GraphqlModuleOptions {
  services: Omit<GraphqlServices, "tail" | "limits"> & Pick<GraphqlAdapterDeps, "errorUrl">;
  verifier: KeyVerifier;
  sessions: SessionVerifier;
  limits: RateLimits | null;
  replicas: Pick<ReplicaReaders, "connect">;
}

/**
 * Statements may run for 5 s instead of 10 s. Each statement is planned for its values: filters vary too much for one
 * generic plan.
 */
const SESSION_SETTINGS = { statement_timeout: "5000", plan_cache_mode: "auto" };

/** Opens a separate pool, so that GraphQL queries cannot starve REST. Stop the HTTP server before disposing. */
export async function openGraphql(
  context: AppContext,
  options: GraphqlModuleOptions,
): Promise<GraphqlAdapter> {
  const { config, databaseUrl, logger } = context;
  const { services, limits, replicas } = options;
  await using opened = new AsyncDisposableStack();
  const { poolSize } = config.database;
  const database = opened.use(await context.database.openPool({ poolSize, session: SESSION_SETTINGS }));
  const createReader = await replicas.connect(SESSION_SETTINGS);
  const tail = opened.use(new EventTail({ database, databaseUrl, logger }));
  const graphqlServices = { ...services, tail, limits };
  const schema = createSchema();
  const readerFor = (principal: Principal, signal: AbortSignal): Queryable =>
    createReader(database.withSignal(signal), principal, signal);
  const adapter = opened.use(
    await createGraphqlAdapter({
      ...context,
      ...options,
      errorUrl: services.errorUrl,
      schema,
      extraRoutes: jobsCsvRoutes({ ...options, schema, readerFor }),
      makeContext: (request) =>
        createContext(request, {
          services: graphqlServices,
          database: database.withSignal(request.signal),
          readerFor: (principal) => readerFor(principal, request.signal),
        }),
    }),
  );
  const resources = opened.move();
  return { ...adapter, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
