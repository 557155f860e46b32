/** What every resolver is given: who asks, on what they read, and the services behind it all. */
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

/** One operation, or one event of a subscription. */
export interface OperationRequest {
  /** Null: the anonymous, who may look at the schema. */
  readonly principal: AuthenticatedPrincipal | null;
  readonly requestId: string;
  /** Where it comes from. */
  readonly address: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Runs a call to another server. Meanwhile the request does not count as in flight. */
  readonly duringExternalCall: <Answer>(call: () => Promise<Answer>) => Promise<Answer>;
  /** For reading: its statements end with `signal`. */
  readonly database: Queryable;
  /** For the lists and aggregates of jobs that `viewer` sees: the same, or a copy that has all that they may have seen. */
  readonly readerFor: (viewer: Principal) => Queryable;
}

/** What a door knows of an operation. */
export type IncomingOperation = Omit<OperationRequest, "database" | "readerFor">;

export interface GraphqlContext extends OperationRequest {
  /** Aggregates over many jobs, by organisation: each may read all of its jobs. */
  readonly statsSemaphore: FairSemaphore;
  readonly services: GraphqlServices;
  readonly loaders: Loaders;
}

export type ContextFactory = (request: OperationRequest) => GraphqlContext;

/** In this process: an operation may ask for twenty, and must not take every connection to PostgreSQL. */
const STATS_CONCURRENCY = { permits: 8, permitsPerKey: 4 };

export function createContextFactory(services: GraphqlServices): ContextFactory {
  const statsSemaphore = createFairSemaphore(STATS_CONCURRENCY);
  return (request) => ({ ...request, services, statsSemaphore, loaders: createLoaders(request, services) });
}
