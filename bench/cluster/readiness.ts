/** The readiness check that balancers and orchestrators use. */
import { get } from "node:http";

const RESPONSE_TIMEOUT_MS = 3_000;

/** Returns the status of /health/ready, or null without a response within the timeout. */
export async function fetchReadiness(url: string): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  // A new connection each time: a kept one would work even if the server accepts no new ones.
  const request = get(`${url}/health/ready`, { agent: false, timeout: RESPONSE_TIMEOUT_MS }, (response) => {
    response.resume();
    resolve(response.statusCode ?? null);
  });
  request.once("timeout", () => request.destroy());
  request.once("error", () => resolve(null));
  return await promise;
}
