/** Limits and close codes of WebSocket connections. */

export const subscriptionLimits = Object.freeze({
  maxMessageBytes: 64 * 1024,
  /** Messages per client, including pings and pongs. */
  messageRate: { perSecond: 50, burst: 200 },
  /** Time from the handshake to `connection_init`. */
  initTimeoutMs: 10_000,
  /** Open connections per process. */
  connections: 5_000,
  /** Connections per process that have not sent `connection_init` yet. */
  unauthenticated: 500,
  /** The same per IP network, so that one client cannot use up the limit above. */
  unauthenticatedPerAddress: 20,
  connectionsPerPrincipal: 50,
  /** Over all its keys and users. Operators have no such limit. */
  connectionsPerOrganization: 200,
  subscriptionsPerConnection: 20,
  /** Concurrent event executions per process, and per organisation or operator. */
  executions: { permits: 8, permitsPerKey: 6 },
  /** Buffered bytes per connection before a slow client is disconnected. */
  maxUnsentBytes: 1024 * 1024,
  /** Wait until a message is handed to the operating system, before a slow client is disconnected. */
  sendTimeoutMs: 5_000,
  /** Wait for the client's close frame. */
  closeTimeoutMs: 2_000,
  /** A client that has not answered by the next ping is disconnected. */
  pingIntervalMs: 12_000,
  /** Interval of credential checks. Credentials are also checked before each event. */
  revalidateIntervalMs: 500,
});

/** Codes of the graphql-transport-ws protocol, or of WebSocket itself where the protocol has none. */
export const closeCodes = Object.freeze({
  goingAway: 1001,
  policyViolation: 1008,
  tryAgainLater: 1013,
  badRequest: 4400,
  forbidden: 4403,
  /** Specific to Waymark. */
  tooSlow: 4413,
  internalError: 4500,
});

export const TOO_SLOW_REASON = "Too slow: query events(after:) for missed events";
export const TRY_AGAIN_REASON =
  "The database is unavailable: reconnect, then query events(after:) for missed events";
