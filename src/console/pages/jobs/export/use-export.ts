/** Reads all jobs of a list page by page and saves them as a file. */
import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";
import type { ApolloClient } from "@apollo/client";
import { useApolloClient } from "@apollo/client/react";
import { useEffect, useState } from "react";
import { downloadFile } from "../../../app/download.ts";
import {
  JobExportDocument,
  type JobExportQuery,
  type JobExportQueryVariables,
} from "../../../generated/job-export.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import type { JobsListVariables } from "../filters/jobs.variables.ts";
import type { ExportColumn, ExportValue } from "./export.columns.ts";
import { writeFile, type ExportFormat } from "./export-file.ts";

/** The largest page of the API. */
const PAGE_SIZE = 100;
/** A long export meets a restart of the server, a lost connection or a rate limit. */
const RETRY_DELAYS_MS = [1_000, 4_000, 15_000] as const;

export interface ExportPlan {
  format: ExportFormat;
  fileName: string;
  listVariables: JobsListVariables;
  columns: readonly ExportColumn[];
}

export type ExportState =
  | { kind: "running"; count: number }
  | { kind: "done"; count: number }
  | { kind: "failed"; error: unknown };

interface ExportProgress {
  onCount: (count: number) => void;
  signal: AbortSignal;
}

/** Starts on mount and stops on unmount. */
export function useExport(plan: ExportPlan): ExportState {
  const client = useApolloClient();
  const [state, setState] = useState<ExportState>({ kind: "running", count: 0 });
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const run = async (): Promise<void> => {
      let count = 0;
      const onCount = (next: number): void => {
        count = next;
        setState({ kind: "running", count });
      };
      try {
        const file = await writeJobs(client, plan, { onCount, signal });
        if (signal.aborted) return;
        downloadFile(plan.fileName, file);
        setState({ kind: "done", count });
      } catch (error) {
        if (!signal.aborted) setState({ kind: "failed", error });
      }
    };
    void run();
    return () => stop.abort();
  }, [client, plan]);
  return state;
}

function writeJobs(
  client: ApolloClient,
  { format, listVariables, columns }: ExportPlan,
  { onCount, signal }: ExportProgress,
): Promise<Blob> {
  const rows = async function* (): AsyncGenerator<ExportValue[]> {
    let count = 0;
    for await (const page of readPages(client, listVariables, signal)) {
      yield* page.map((job) => columns.map(({ value }) => value(job)));
      count += page.length;
      onCount(count);
    }
  };
  return writeFile(format, columns, rows());
}

type JobPage = NonNullable<JobExportQuery["jobs"]>;

async function* readPages(
  client: ApolloClient,
  listVariables: JobsListVariables,
  signal: AbortSignal,
): AsyncGenerator<readonly JobRowFragment[]> {
  let after: string | null = null;
  do {
    const variables: JobExportQueryVariables = { ...listVariables, first: PAGE_SIZE, after };
    const page: JobPage = await withRetries(signal, async () => {
      // Not into the cache, which would keep every job.
      const query = { query: JobExportDocument, variables, fetchPolicy: "no-cache" } as const;
      const { data } = await client.query({ ...query, context: { fetchOptions: { signal } } });
      if (!data?.jobs) throw new Error("The response has no jobs");
      return data.jobs;
    });
    yield page.nodes;
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  } while (after !== null);
}

async function withRetries<Value>(signal: AbortSignal, run: () => Promise<Value>): Promise<Value> {
  for (const delayMs of RETRY_DELAYS_MS) {
    try {
      return await run();
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error;
      await wait(delayMs, signal);
    }
  }
  return await run();
}

const TEMPORARY_CODES = new Set<unknown>(["SERVICE_UNAVAILABLE", "RATE_LIMITED"]);

function isTemporary(error: unknown): boolean {
  if (ServerError.is(error)) return error.statusCode === 429 || error.statusCode >= 500;
  if (CombinedGraphQLErrors.is(error))
    return error.errors.some(({ extensions }) => TEMPORARY_CODES.has(extensions?.["code"]));
  // `fetch` throws it without a connection.
  return error instanceof TypeError;
}

function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
