/** The context of resolvers: the principal, the database to read from and the services. */
import type { Queryable, Reader } from "../../core/postgres/database.ts";
import type { Principal } from "../../core/principal.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { Loaders } from "./loaders.ts";
import type { GraphqlServices } from "./services.ts";

/** The request data of one operation, or of one event of a subscription. */
export interface OperationRequest {
  /** Null for anonymous requests, which may only introspect. */
  readonly principal: AuthenticatedPrincipal | null;
  readonly requestId: string;
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
  readonly services: GraphqlServices;
  readonly loaders: Loaders;
}

export function createContextFactory(
  services: GraphqlServices,
): (request: OperationRequest) => GraphqlContext {
  return (request) => {
    const { principal, database } = request;
    const loaders = new Loaders({ principal, database, services });
    return { ...request, services, loaders };
  };
}
