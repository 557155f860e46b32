/** The failures that a test key can ask for with the header `X-Waymark-Simulate`. */
import { unauthorized } from "../api-keys/api.ts";
import { AppError, badRequest, unavailable } from "../core/errors.ts";

export const SIMULATE_HEADER = "X-Waymark-Simulate";
/** In milliseconds. */
export const SLOW = { min: 1, max: 30_000 } as const;

/** The statuses of every route of REST. 429 is not in `failures`, because its answer depends on the rate limits of the key. */
export const simulatedStatuses = ["401", "403", "409", "412", "429", "500", "503"] as const;
/** The status that only the events feed has. */
export const FEED_STATUS = "410";
export type SimulatedStatus = (typeof simulatedStatuses)[number] | typeof FEED_STATUS;

export type Simulation =
  | { kind: "failure"; status: SimulatedStatus }
  /** Waits before the request is handled. */
  | { kind: "slow"; ms: number }
  /** Closes the connection without an answer: before the request is handled, or after it. */
  | { kind: "cut" }
  | { kind: "cut_after" };

/** `statuses`: the ones that the interface has. Throws BadRequestException for a value that is not known. */
export function parseSimulation(text: string, statuses: readonly SimulatedStatus[]): Simulation {
  const status = statuses.find((each) => each === text);
  if (status !== undefined) return { kind: "failure", status };
  if (text === "cut" || text === "cut_after") return { kind: text };
  const ms = Number(/^slow:([1-9]\d{0,4})$/.exec(text)?.[1]);
  if (ms <= SLOW.max) return { kind: "slow", ms };
  const message =
    text === FEED_STATUS
      ? "410 works only with GET /v1/events, the only operation that returns it"
      : `must be ${statuses.join(", ")}, cut, cut_after, or slow: with ${SLOW.min} to ${SLOW.max} milliseconds, such as slow:3000`;
  throw badRequest([{ location: "header", field: SIMULATE_HEADER, code: "invalid_value", message }]);
}

/** Returns the error that a real failure with this status has. `ifMatch`: the header of the request. */
export function simulatedFailure(
  status: Exclude<SimulatedStatus, "429" | typeof FEED_STATUS>,
  ifMatch: string | undefined,
): AppError {
  return status === "412" ? versionMismatch(ifMatch) : failures[status]();
}

const failures = {
  "401": () => unauthorized("The API key is not valid"),
  "403": () => new AppError("ForbiddenException", "The API key may not be used from this IP address"),
  "409": () => new AppError("ConflictException", "A request with this Idempotency-Key is still in progress"),
  "500": () => new AppError("InternalServerErrorException", "An unexpected error happened on our side"),
  "503": () => unavailable("The database is unreachable. Try again shortly.", 2),
};

/** As if another request had changed the job once since the version in `ifMatch`. */
function versionMismatch(ifMatch: string | undefined): AppError {
  const known = Number(/^"(\d{1,9})"$/.exec(ifMatch ?? "")?.[1] ?? 1);
  const message = `The job is at version ${known + 1}, which If-Match does not allow`;
  return new AppError("PreconditionFailedException", message, {
    details: { current_etag: `"${known + 1}"` },
  });
}
