/** Whether a server wants requests, as balancers and orchestrators ask it. */
import { get } from "node:http";

const RESPONSE_TIMEOUT_MS = 3_000;

/** The status of its /health/ready; null where it does not answer. */
export async function fetchReadiness(url: string): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  // On a connection of its own: that an old one still stands says nothing of the door.
  const request = get(`${url}/health/ready`, { agent: false, timeout: RESPONSE_TIMEOUT_MS }, (response) => {
    response.resume();
    resolve(response.statusCode ?? null);
  });
  request.once("timeout", () => request.destroy());
  request.once("error", () => resolve(null));
  return await promise;
}
