/** The failures that a request can ask for, and what a client should do about them. */

export interface Fault {
  /** The value of the header `X-Waymark-Simulate`. */
  value: string;
  label: string;
  expectation: string;
}

export const faults: readonly [Fault, ...Fault[]] = [
  {
    value: "401",
    label: "401: invalid key",
    expectation: "The key is not valid. Stop and alert; a retry cannot succeed.",
  },
  {
    value: "403",
    label: "403: not allowed",
    expectation: "The key may not be used from this IP address. Stop and alert; a retry cannot succeed.",
  },
  {
    value: "409",
    label: "409: request in progress",
    expectation: "A request with the same Idempotency-Key is in progress. Send the same request again later.",
  },
  {
    value: "412",
    label: "412: changed meanwhile",
    expectation: "Another request changed the job. Read it again, then send the change with the new ETag.",
  },
  {
    value: "429",
    label: "429: rate limit",
    expectation:
      "The rate limit is exceeded. Wait for the seconds in Retry-After, then send the request again.",
  },
  {
    value: "500",
    label: "500: server error",
    expectation:
      "An unexpected error. Send the request again with the same Idempotency-Key, with growing delays.",
  },
  {
    value: "503",
    label: "503: unavailable",
    expectation:
      "The service is not available. Wait for the seconds in Retry-After, then send the request again.",
  },
  {
    value: "slow:3000",
    label: "Slow response: 3 seconds",
    expectation:
      "The normal response, 3 seconds late. Use 1 to 30,000 milliseconds to check your own timeout.",
  },
  {
    value: "cut",
    label: "Connection closed",
    expectation:
      "The connection closes without a response; curl reports an empty reply. Nothing was changed.",
  },
  {
    value: "cut_after",
    label: "Connection closed after the change",
    expectation:
      "The request is applied, then the connection closes without a response. Send it again with the same Idempotency-Key.",
  },
];

/** `url`: of the request. The key is read from the environment, so that it is not copied. */
export function faultCommand({ value }: Fault, url: string): string {
  return [
    `curl -i -H "x-api-key: $WAYMARK_TEST_KEY" \\`,
    `  -H "X-Waymark-Simulate: ${value}" \\`,
    `  "${url}"`,
  ].join("\n");
}
