/** Traces SQL statements, and the job events that a statement inserts as a child span. */
import type { PoolClient } from "pg";
import type { QueryClient, RunSql } from "../postgres/sql.ts";
import { TraceparentParam, errorType, withSpan, type Span, type Tracing } from "./tracing.ts";
import { maskLiterals, StatementDescriptions } from "./sql-summary.ts";

export interface TracedQueries {
  readonly run: RunSql;
  /** Holds back the event spans of statements on this connection until `commit` is called. Disposing discards them. */
  readonly deferUntilCommit?: (client: QueryClient) => DeferredSpans;
  /** Traces what MikroORM runs on a new connection. */
  readonly traceConnection?: (client: PoolClient) => void;
}

export interface DeferredSpans extends Disposable {
  commit(): void;
}

const EVENT_TABLE = "job_event";
const EVENT_SPAN = {
  kind: "producer",
  attributes: {
    "messaging.system": "waymark",
    "messaging.operation.type": "send",
    "messaging.operation.name": "publish",
    "messaging.destination.name": EVENT_TABLE,
  },
} as const;

/** Wraps `run` in a span per statement within a traced request or task. Without `tracing`, returns `run` unchanged. */
export function traceQueries(run: RunSql, tracing: Tracing | undefined): TracedQueries {
  if (tracing === undefined) return { run };
  const descriptions = new StatementDescriptions();
  const deferredByClient = new WeakMap<QueryClient, (() => void)[]>();

  const describe = (span: Span, text: string): void => {
    const { name, attributes } = descriptions.of(text);
    span.rename(name);
    span.set(attributes);
  };

  return {
    traceConnection(client) {
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<object>;
      const tracedQuery = (...args: unknown[]): Promise<object> => {
        const [text] = args;
        // Only MikroORM calls it with a text and an array.
        if (typeof text !== "string" || !Array.isArray(args[1])) return query(...args);
        const span = tracing.startSpan("SQL", { kind: "client" });
        if (span !== null) describe(span, maskLiterals(text));
        return withSpan(span, () => query(...args));
      };
      client.query = tracedQuery as typeof client.query;
    },
    async run(client, statement) {
      const span = tracing.startSpan("SQL", { kind: "client" });
      if (span === null) return await run(client, statement);
      describe(span, statement.text);
      const event = startEventSpan(tracing, span, statement.values);
      try {
        const rows = await run<never>(client, statement);
        const count = event === null ? 0 : rows.filter(event.param.isEvent).length;
        if (event !== null && count > 0) finish(deferredByClient.get(client), () => event.end(count));
        return rows;
      } catch (error) {
        span.fail(errorType(error));
        throw error;
      } finally {
        span.end();
      }
    },
    deferUntilCommit(client) {
      const events: (() => void)[] = [];
      deferredByClient.set(client, events);
      return {
        commit() {
          for (const end of events) end();
        },
        [Symbol.dispose]() {
          // The next transaction on this connection may have begun.
          if (deferredByClient.get(client) === events) deferredByClient.delete(client);
        },
      };
    },
  };
}

/** Ends a span immediately, or with its transaction. */
function finish(deferred: (() => void)[] | undefined, end: () => void): void {
  if (deferred) deferred.push(end);
  else end();
}

interface EventSpan {
  readonly param: TraceparentParam<never>;
  end(count: number): void;
}

/**
 * If `values` contain a TraceparentParam, starts the span of the events and puts its `traceparent` in that value. A span that
 * is never ended is not exported.
 */
function startEventSpan(tracing: Tracing, span: Span, values: unknown[]): EventSpan | null {
  const index = values.findIndex((value) => value instanceof TraceparentParam);
  if (index === -1) return null;
  const event = span.run(() => tracing.startSpan(`publish ${EVENT_TABLE}`, EVENT_SPAN));
  if (event === null) return null;
  const param = values[index] as TraceparentParam<never>;
  values[index] = event.traceparent;
  return {
    param,
    end(count) {
      event.set({ "messaging.batch.message_count": count });
      event.end();
    },
  };
}
