/** What one socket, one key and the whole process may hold open, and how a socket is told that it is over. */

export const subscriptionLimits = Object.freeze({
  /** One message from a client. */
  maxMessageBytes: 64 * 1024,
  /** Messages from one client, pings and pongs of the protocol included. */
  messages: { perSecond: 50, burst: 200 },
  /** From the socket's opening to `connection_init`. */
  initTimeoutMs: 10_000,
  /** Sockets of this process. */
  sockets: 5_000,
  /** Of these, those that have not said yet who they are. */
  strangers: 500,
  /** So that one address alone does not shut out everybody. */
  unauthenticatedPerAddress: 20,
  connectionsPerPrincipal: 50,
  /** With whichever of its keys. Operators are no organisation. */
  connectionsPerOrganization: 200,
  subscriptionsPerConnection: 20,
  /** Executions for events in this process, and those of one organisation; organisations take turns. */
  executions: { permits: 8, permitsPerKey: 6 },
  /** An id is the client's own, and comes back with each event. */
  maxIdLength: 128,
  /** What a socket may hold back for a client that does not read. */
  maxUnsentBytes: 1024 * 1024,
  /** Checks in a row that find that none of it has got away. */
  maxStalledChecks: 10,
  /** How long a client may take to answer that the socket is closed. */
  closeTimeoutMs: 5_000,
  /** A client that does not answer from one ping to the next is gone. */
  pingIntervalMs: 12_000,
  /** Keys are verified again this often, beside each event. */
  checkEveryMs: 500,
  /** For the last words when the server stops. */
  stopTimeoutMs: 2_000,
});

/** As the protocol graphql-transport-ws has them, and as WebSocket has them where it says nothing. */
export const closeCodes = Object.freeze({
  goingAway: 1001,
  policyViolation: 1008,
  tryAgainLater: 1013,
  badRequest: 4400,
  forbidden: 4403,
  subscriberExists: 4409,
  /** Our own. */
  tooSlow: 4413,
  internalError: 4500,
});

export const TOO_SLOW_REASON = "Too slow: ask events(after:) for what was missed";
