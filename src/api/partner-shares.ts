/**
 * The share of each partner in the requests that are handled at the same time. A request that waits for a lock holds a connection
 * to PostgreSQL, so without shares the waiting requests of one partner could hold all of them.
 */
import { FairSemaphore } from "../core/concurrency/semaphore.ts";
import { AppError, unavailable } from "../core/errors.ts";

/** Connections that requests leave to background tasks. */
const RESERVED_CONNECTIONS = 2;
/** Changes of many jobs of one partner. They lock many rows, so more of them mostly wait for each other. */
const BULK_PER_PARTNER = 2;
/** Requests of one partner that wait for its share; further ones get 429. */
export const MAX_WAITING = 100;
/** A request that waited longer for its share gets 503: the others may be slow because PostgreSQL is. */
const MAX_WAIT_MS = 5_000;

/** `bulk`: changes many jobs. `query`: a GraphQL query, which uses a separate pool. `request`: all others. */
export type ShareKind = "request" | "bulk" | "query";

export interface SharedRequest {
  /** UUID. All operators have one share. */
  readonly partnerId: string | null;
  readonly kind: ShareKind;
  /** Called when the request must wait and others of the same partner are in progress. Awaits `turn`, and must not throw. */
  readonly awaitTurn: (turn: Promise<void>) => Promise<void>;
}

/** The part of the share that a request holds. */
export interface Share {
  /** Runs `call`, which needs no connection to PostgreSQL, and gives the share to other requests meanwhile. */
  lend<T>(call: () => Promise<T>): Promise<T>;
}

/** Each partner may use half of the connections. */
export class PartnerShares {
  readonly #requests: FairSemaphore;
  readonly #queries: FairSemaphore;
  readonly #bulk = new FairSemaphore({ permits: Infinity, permitsPerKey: BULK_PER_PARTNER });

  constructor(poolSize: number) {
    const permits = Math.max(poolSize - RESERVED_CONNECTIONS, 1);
    const permitsPerKey = Math.max(Math.floor(poolSize / 2), 1);
    // A partner with no other request need not wait for those of the others.
    const options = { permits, permitsPerKey, reserved: Math.floor(permits / 4) };
    this.#requests = new FairSemaphore(options);
    this.#queries = new FairSemaphore(options);
  }

  /**
   * Runs `work` in the partner's share, and returns its result. Instead throws TooManyRequestsException if too many requests of the
   * partner wait, and ServiceUnavailableException if this one has waited too long.
   */
  async run<T>(request: SharedRequest, work: (share: Share) => Promise<T>): Promise<T> {
    const connections = request.kind === "query" ? this.#queries : this.#requests;
    if (request.kind !== "bulk") return await runIn(connections, request, work);
    return await runIn(this.#bulk, request, () => runIn(connections, request, work));
  }
}

async function runIn<T>(
  semaphore: FairSemaphore,
  request: SharedRequest,
  work: (share: Share) => Promise<T>,
): Promise<T> {
  const key = keyOf(request);
  if (semaphore.waiting(key) >= MAX_WAITING) throw tooManyRequests();
  const turn = take(semaphore, request);
  if (turn) {
    const startedMs = performance.now();
    await turn;
    if (performance.now() - startedMs >= MAX_WAIT_MS) {
      semaphore.release(key);
      throw unavailable("Other requests of your organisation take too long. Try again in 1 s.", 1);
    }
  }
  const lend = async <R>(call: () => Promise<R>): Promise<R> => {
    semaphore.release(key);
    try {
      return await call();
    } finally {
      // Never refused: the call may have had an effect.
      await take(semaphore, request);
    }
  };
  try {
    return await work({ lend });
  } finally {
    semaphore.release(key);
  }
}

/** Takes a permit. The promise resolves once it is taken; none if that is now. */
function take(semaphore: FairSemaphore, request: SharedRequest): Promise<void> | undefined {
  const key = keyOf(request);
  const waitsForItself = semaphore.running(key) > 0;
  const turn = semaphore.acquire(key);
  return turn && waitsForItself ? request.awaitTurn(turn) : turn;
}

function keyOf({ partnerId }: SharedRequest): string {
  return partnerId ?? "operators";
}

function tooManyRequests(): AppError {
  return new AppError(
    "TooManyRequestsException",
    "Too many requests of your organisation are in progress. Send fewer at the same time. Try again in 1 s.",
    { headers: { "Retry-After": "1" } },
  );
}
