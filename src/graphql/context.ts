/** The context of resolvers: the principal, the database to read from and the services. */
import type {
  InvitationService,
  MemberService,
  ReviewService,
  SavedViewService,
  SuspensionService,
} from "../accounts/api.ts";
import type { ApiKeyService } from "../api-keys/api.ts";
import type { RateLimits } from "../rate-limits/api.ts";
import type { EventTail } from "../events/api.ts";
import type { JobReferenceData, JobService, OperatorJobService } from "../jobs/api.ts";
import type { MailService } from "../mail/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import type { Principal } from "../platform/principal.ts";
import { createFairSemaphore, type FairSemaphore } from "../platform/concurrency/semaphore.ts";
import type { RequestLog } from "../request-log/api.ts";
import type { DeliveryService, EndpointService, SecretReveal } from "../webhooks/api.ts";
import type { AuthenticatedPrincipal } from "./principal.ts";
import { createLoaders, type Loaders } from "./nodes/loaders.ts";

export interface GraphqlServices {
  readonly jobs: JobService;
  readonly operations: OperatorJobService;
  readonly referenceData: JobReferenceData;
  readonly keys: ApiKeyService;
  readonly endpoints: EndpointService;
  readonly secrets: SecretReveal;
  readonly deliveries: DeliveryService;
  readonly members: MemberService;
  readonly invitations: InvitationService;
  readonly reviews: ReviewService;
  readonly suspensions: SuspensionService;
  readonly views: SavedViewService;
  readonly mails: MailService;
  readonly requests: Pick<RequestLog, "list" | "usage">;
  readonly tail: EventTail;
  readonly clock: Clock;
  /** Null: rate limits are off. */
  readonly rateLimits: RateLimits | null;
}

/** The request data of one operation, or of one event of a subscription. */
export interface OperationRequest {
  /** Null for anonymous requests, which may only introspect. */
  readonly principal: AuthenticatedPrincipal | null;
  readonly requestId: string;
  /** The client's IP address. */
  readonly address: string | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Runs a call to another server. The request does not count as in flight during the call. */
  readonly duringExternalCall: <Answer>(call: () => Promise<Answer>) => Promise<Answer>;
  /** For reads. Its statements are cancelled when `signal` aborts. */
  readonly database: Queryable;
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

export type ContextFactory = (request: OperationRequest) => GraphqlContext;

/** Per process. One operation may select 10 `jobStats`, which must not use up the PostgreSQL connections. */
const STATS_CONCURRENCY = { permits: 8, permitsPerKey: 4 };

export function createContextFactory(services: GraphqlServices): ContextFactory {
  const statsSemaphore = createFairSemaphore(STATS_CONCURRENCY);
  return (request) => ({ ...request, services, statsSemaphore, loaders: createLoaders(request, services) });
}
