/** The context of resolvers: the principal, the database to read from and the services. */
import type { Queryable, Reader } from "../platform/postgres/database.ts";
import type { Principal } from "../platform/principal.ts";
import { createFairSemaphore, type FairSemaphore } from "../platform/concurrency/semaphore.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { Loaders } from "./nodes/loaders.ts";
import type { GraphqlServices } from "./services.ts";

/** The request data of one operation, or of one event of a subscription. */
export interface OperationRequest {
  /** Null for anonymous requests, which may only introspect. */
  readonly principal: AuthenticatedPrincipal | null;
  readonly requestId: string;
  /** The client's IP address. */
  readonly ipAddress: string | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Runs a call to another server. The request does not count as in flight during the call. */
  readonly duringExternalCall: <Answer>(call: () => Promise<Answer>) => Promise<Answer>;
  /** For reads. Its statements are cancelled when `signal` aborts. */
  readonly database: Reader;
  /** The database for job lists and aggregates: the primary, or a replica that has everything `principal` may have read. */
  readonly readerFor: (principal: Principal) => Queryable;
}

/** The request data that a transport (HTTP or WebSocket) provides. */
export type IncomingOperation = Omit<OperationRequest, "database" | "readerFor">;

export interface GraphqlContext extends OperationRequest {
  /** Limits concurrent `jobStats` queries per organisation: each query may read all of its jobs. */
  readonly statsSemaphore: FairSemaphore;
  readonly services: GraphqlServices;
  readonly loaders: Loaders;
}

/** Per process. One operation may select 10 `jobStats`, which must not use up the PostgreSQL connections. */
const STATS_CONCURRENCY = { permits: 8, permitsPerKey: 4 };

export function createContextFactory(
  services: GraphqlServices,
): (request: OperationRequest) => GraphqlContext {
  const statsSemaphore = createFairSemaphore(STATS_CONCURRENCY);
  return (request) => {
    const { principal, database } = request;
    const loaders = new Loaders({ principal, database, services });
    return { ...request, services, statsSemaphore, loaders };
  };
}
