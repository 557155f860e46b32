/** How long an answer may take to leave: who asks for much and reads slowly would have it held for them without end. */
import type { ServerResponse } from "node:http";

/** Breaks the connection where the whole answer is written and is not taken within `timeoutMs`. */
export function limitResponseTime(response: ServerResponse, timeoutMs: number): void {
  response.once("prefinish", () => {
    const { socket } = response;
    // Nearly always the operating system has taken all of it by now.
    if (!socket || socket.writableLength === 0) return;
    const deadline = setTimeout(() => socket.destroy(), timeoutMs).unref();
    response.once("close", () => clearTimeout(deadline));
  });
}
