/** Records which operations of the OpenAPI document are called by curl and by each client. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { operationsOf } from "../../../src/api/rest/openapi/operations.ts";
import { contract, type Operation } from "../app/openapi-contract.ts";

/** The start of the User-Agent of what runs the samples in each language. */
const USER_AGENTS = {
  curl: "curl/",
  TypeScript: "waymark-client-typescript/",
  Python: "waymark-client-python/",
} as const;

export type SampleLanguage = keyof typeof USER_AGENTS;

export interface SampleCalls extends Disposable {
  /** True if anything in this language has called the API. */
  hasAny(language: SampleLanguage): boolean;
  /** Returns the operations that nothing in this language has called. */
  missing(language: SampleLanguage): string[];
}

/** The operations for partners, which are those below `/v1`. */
const operations = operationsOf<Operation>(contract.paths)
  .filter(({ path }) => path.startsWith("/v1/"))
  .map(({ method, path, operation }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    name: operation.operationId,
  }));

const CHANNEL = "http.server.request.start";

/** Records the requests to all HTTP servers of this process until it is disposed. */
export function recordSampleCalls(): SampleCalls {
  const called = new Map<SampleLanguage, Set<string>>();
  const record = (message: unknown): void => {
    const { method, url = "", headers } = (message as { request: IncomingMessage }).request;
    const [path = ""] = url.split("?");
    const operation = operations.find((each) => each.method === method && each.pattern.test(path));
    if (!operation) return;
    for (const [language, prefix] of Object.entries(USER_AGENTS) as [SampleLanguage, string][])
      if (headers["user-agent"]?.startsWith(prefix))
        called.set(language, (called.get(language) ?? new Set()).add(operation.name));
  };
  subscribe(CHANNEL, record);
  return {
    hasAny: (language) => called.has(language),
    missing: (language) =>
      operations.map(({ name }) => name).filter((name) => !called.get(language)?.has(name)),
    [Symbol.dispose]: () => void unsubscribe(CHANNEL, record),
  };
}
