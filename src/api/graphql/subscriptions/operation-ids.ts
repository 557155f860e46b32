/**
 * Gives each operation of a connection a unique ID. The client's ID is free again as soon as the client has completed its
 * operation; graphql-ws keeps it until the operation has ended, and would end a new one with the same ID.
 */
import { MessageType } from "graphql-ws";

interface IncomingMessage {
  readonly type?: unknown;
  readonly id?: unknown;
}

/** The ID that starts a message of graphql-ws, and its type. */
const OUTGOING = /^\{"id":"(\d+)","type":"(\w+)"/;

export class OperationIds {
  readonly #ownIds = new Map<string, string>();
  readonly #clientIds = new Map<string, string>();
  #count = 0;

  /** Returns a message of the client with our ID, or the ID that it uses for a second operation. */
  receive(text: string): { text: string } | { usedId: string } {
    const message = parse(text);
    const { type, id } = message ?? {};
    if (typeof id !== "string") return { text };
    if (type === MessageType.Subscribe) {
      if (this.#ownIds.has(id)) return { usedId: id };
      this.#count += 1;
      const ownId = String(this.#count);
      this.#ownIds.set(id, ownId);
      this.#clientIds.set(ownId, id);
      return { text: JSON.stringify({ ...message, id: ownId }) };
    }
    const ownId = this.#ownIds.get(id);
    if (type === MessageType.Complete && ownId !== undefined) this.#forget(ownId);
    // Never the ID of another operation.
    return { text: JSON.stringify({ ...message, id: ownId ?? "0" }) };
  }

  /** Returns a message of graphql-ws with the client's ID, or null if the client has completed the operation. */
  send(text: string): string | null {
    const [start, ownId = "", type] = OUTGOING.exec(text) ?? [];
    if (start === undefined) return text;
    const clientId = this.#clientIds.get(ownId);
    if (clientId === undefined) return null;
    if (type !== MessageType.Next) this.#forget(ownId);
    return `{"id":${JSON.stringify(clientId)},"type":"${type}"${text.slice(start.length)}`;
  }

  clientIdOf(ownId: string): string {
    return this.#clientIds.get(ownId) ?? "";
  }

  #forget(ownId: string): void {
    this.#ownIds.delete(this.clientIdOf(ownId));
    this.#clientIds.delete(ownId);
  }
}

function parse(text: string): IncomingMessage | null {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? message : null;
  } catch {
    return null;
  }
}
