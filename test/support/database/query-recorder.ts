/** Parses a client's side of the PostgreSQL protocol (version 3) and reports each executed statement. */

/** Reported in place of a statement when a client asks the server to cancel one. */
export const CANCEL_REQUEST = "-- cancel request";

const CANCEL_CODE = 80877102;
const ENCRYPTION_CODES = new Set([80877103, 80877104]);

/** Returns a parser for one connection's bytes. `onStatement` gets the text of each Query and Execute message, and CANCEL_REQUEST. */
export function recordQueries(onStatement: (text: string) => void): (chunk: Buffer) => void {
  const textOfName = new Map<string, string>();
  let bound = "";
  let started = false;
  let pending: Buffer = Buffer.alloc(0);

  const onMessage = (type: string, body: Buffer): void => {
    const [first = "", second = ""] = body.toString("utf8").split("\0", 2);
    if (type === "Q") onStatement(first);
    // A Parse message has the statement's name and text, a Bind message the portal's and the statement's name.
    if (type === "P") textOfName.set(first, second);
    if (type === "B") bound = textOfName.get(second) ?? "";
    if (type === "E") onStatement(bound);
  };

  const onStart = (code: number): void => {
    if (code === CANCEL_CODE) onStatement(CANCEL_REQUEST);
    started = code !== CANCEL_CODE && !ENCRYPTION_CODES.has(code);
  };

  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    // The start-up message has no type byte.
    for (let head = started ? 1 : 0; pending.length >= head + 4; head = started ? 1 : 0) {
      const length = pending.readUInt32BE(head);
      if (pending.length < head + length) return;
      const body = pending.subarray(head + 4, head + length);
      if (started) onMessage(pending.toString("latin1", 0, 1), body);
      else onStart(body.readUInt32BE(0));
      pending = pending.subarray(head + length);
    }
  };
}
