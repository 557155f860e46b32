/** SQL as spans, and the events that a statement records as a span below it. */
import type { QueryRunner, QueryClient } from "../postgres/query-runner.ts";
import { TraceparentParam, errorType, type Span, type Tracing } from "./tracing.ts";
import { StatementDescriptions } from "./sql-summary.ts";

export interface TracedQueries {
  readonly run: QueryRunner;
  /** What statements on this connection record from now on has happened only once `commit` says so; or never. */
  readonly deferUntilCommit?: (client: QueryClient) => DeferredSpans;
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

/** `run`, with a span for each statement of what is traced; where nothing is, `run` as it stands. */
export function traceQueries(run: QueryRunner, tracing: Tracing | undefined): TracedQueries {
  if (tracing === undefined) return { run };
  const descriptions = new StatementDescriptions();
  const deferredByClient = new WeakMap<QueryClient, (() => void)[]>();

  return {
    async run(client, statement) {
      const span = tracing.startSpan("SQL", { kind: "client" });
      if (span === null) return await run(client, statement);
      const compiled = statement.compile();
      const { name, attributes } = descriptions.of(compiled.text);
      span.rename(name);
      span.set(attributes);
      const event = startEventSpan(tracing, span, compiled.values);
      try {
        const rows = await run<never>(client, { compile: () => compiled });
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

/** At once, or with the transaction that it is part of. */
function finish(deferred: (() => void)[] | undefined, end: () => void): void {
  if (deferred) deferred.push(end);
  else end();
}

interface EventSpan {
  readonly param: TraceparentParam<never>;
  end(count: number): void;
}

/** Where `values` have a place for it: the span of the events, which is told of nowhere unless it ends. */
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
