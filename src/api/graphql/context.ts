/** The context of resolvers: the principal, the database to read from and the services. */
import type { Queryable, Reader } from "../../core/postgres/database.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { Loaders } from "./loaders.ts";
import type { GraphqlServices } from "./services.ts";

/** The request data of one operation, or of one event of a subscription. */
export interface IncomingOperation {
  /** Null for anonymous requests, which may only introspect. */
  readonly principal: AuthenticatedPrincipal | null;
  readonly requestId: string;
  readonly ipAddress: string | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

interface Sources {
  readonly services: GraphqlServices;
  /** For reads. Its statements are cancelled when `signal` aborts. */
  readonly database: Reader;
  /** Returns the database for job lists and aggregates: the primary, or a replica that has everything the principal may have read. */
  readonly readerFor: (principal: AuthenticatedPrincipal) => Queryable;
}

export interface GraphqlContext extends IncomingOperation, Sources {
  readonly principal: AuthenticatedPrincipal;
  readonly loaders: Loaders;
}

export function createContext(request: IncomingOperation, sources: Sources): GraphqlContext {
  // The guard rejects every field with a resolver for anonymous requests.
  const principal = request.principal as AuthenticatedPrincipal;
  return { ...request, ...sources, principal, loaders: new Loaders({ ...sources, principal }) };
}
