/** SQL as spans, and the events that a statement records as a span below it. */
import type { Run, RunnableClient } from "./statement-run.ts";
import { EventPlace, reasonOf, type Span, type Tracing } from "./tracing.ts";
import { StatementDescriptions } from "./tracing.summary.ts";

export interface TracedStatements {
  readonly run: Run;
  /** What statements on this connection record from now on has happened only once `commit` says so; or never. */
  readonly hold?: (client: RunnableClient) => HeldEvents;
}

export interface HeldEvents extends Disposable {
  commit(): void;
}

const EVENTS = "job_event";
const EVENT_SPAN = {
  kind: "producer",
  attributes: {
    "messaging.system": "waymark",
    "messaging.operation.type": "send",
    "messaging.operation.name": "publish",
    "messaging.destination.name": EVENTS,
  },
} as const;

/** `run`, with a span for each statement of what is traced; where nothing is, `run` as it stands. */
export function traceStatements(run: Run, tracing: Tracing | undefined): TracedStatements {
  if (tracing === undefined) return { run };
  const descriptions = new StatementDescriptions();
  const held = new WeakMap<RunnableClient, (() => void)[]>();

  return {
    async run(client, statement) {
      const span = tracing.beginBelow("SQL", { kind: "client" });
      if (span === null) return await run(client, statement);
      const compiled = statement.compile();
      const { name, attributes } = descriptions.of(compiled.text);
      span.rename(name);
      span.set(attributes);
      const event = placeEvent(tracing, span, compiled.values);
      try {
        const rows = await run<never>(client, { compile: () => compiled });
        const count = event === null ? 0 : rows.filter(event.place.isEvent).length;
        if (event !== null && count > 0) happen(held.get(client), () => event.end(count));
        return rows;
      } catch (error) {
        span.fail(reasonOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
    hold(client) {
      const events: (() => void)[] = [];
      held.set(client, events);
      return {
        commit() {
          for (const end of events) end();
        },
        [Symbol.dispose]() {
          // The next transaction on this connection may have begun.
          if (held.get(client) === events) held.delete(client);
        },
      };
    },
  };
}

/** At once, or with the transaction that it is part of. */
function happen(held: (() => void)[] | undefined, end: () => void): void {
  if (held) held.push(end);
  else end();
}

interface PlacedEvent {
  readonly place: EventPlace<never>;
  end(count: number): void;
}

/** Where `values` have a place for it: the span of the events, which is told of nowhere unless it ends. */
function placeEvent(tracing: Tracing, span: Span, values: unknown[]): PlacedEvent | null {
  const at = values.findIndex((value) => value instanceof EventPlace);
  if (at === -1) return null;
  const event = span.within(() => tracing.beginBelow(`publish ${EVENTS}`, EVENT_SPAN));
  if (event === null) return null;
  const place = values[at] as EventPlace<never>;
  values[at] = event.traceParent;
  return {
    place,
    end(count) {
      event.set({ "messaging.batch.message_count": count });
      event.end();
    },
  };
}
