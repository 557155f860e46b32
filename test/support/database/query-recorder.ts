/** Reads along what a client says to PostgreSQL (frontend/backend protocol 3) and tells of each statement that is run. */

const SSL_OR_CANCEL_CODES = new Set([80877102, 80877103, 80877104]);

/** A reader of one connection's bytes; `onStatement` gets the text of each Query and each Execute. */
export function recordQueries(onStatement: (text: string) => void): (chunk: Buffer) => void {
  const textOfName = new Map<string, string>();
  let bound = "";
  let started = false;
  let pending: Buffer = Buffer.alloc(0);

  const onMessage = (type: string, body: Buffer): void => {
    const [first = "", second = ""] = body.toString("utf8").split("\0", 2);
    if (type === "Q") onStatement(first);
    // Parse: the statement's name and its text. Bind: the portal's name and the statement's.
    if (type === "P") textOfName.set(first, second);
    if (type === "B") bound = textOfName.get(second) ?? "";
    if (type === "E") onStatement(bound);
  };

  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    // The first message has no type.
    for (let head = started ? 1 : 0; pending.length >= head + 4; head = started ? 1 : 0) {
      const length = pending.readUInt32BE(head);
      if (pending.length < head + length) return;
      const body = pending.subarray(head + 4, head + length);
      if (started) onMessage(pending.toString("latin1", 0, 1), body);
      else started = !SSL_OR_CANCEL_CODES.has(body.readUInt32BE(0));
      pending = pending.subarray(head + length);
    }
  };
}
