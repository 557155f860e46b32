/** Time limit for sending a response, so that slow clients cannot keep it in memory forever. */
import type { ServerResponse } from "node:http";

/** Destroys the connection if the client has not read the complete response within `timeoutMs`. */
export function limitResponseTime(response: ServerResponse, timeoutMs: number): void {
  response.once("prefinish", () => {
    const { socket } = response;
    // Usually the operating system has taken all of it by now.
    if (!socket || socket.writableLength === 0) return;
    const deadline = setTimeout(() => socket.destroy(), timeoutMs).unref();
    response.once("close", () => clearTimeout(deadline));
  });
}
