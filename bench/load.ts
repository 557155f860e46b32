/**
 * The load generator, in its own process: a fixed number of keep-alive connections, each of which sends its next request when
 * the response to the previous one arrives. It uses raw sockets and a minimal parser, so that it costs little CPU.
 */
import { createExchange, openConnection, encodeRequest } from "./raw-http-client.ts";

export interface LoadRequest {
  method: "GET" | "PATCH" | "POST";
  path: string;
  key: string;
  body?: string;
}

export interface LoadJob {
  url: string;
  connections: number;
  requests: readonly LoadRequest[];
}

export interface LoadResult {
  wallMs: number;
  latenciesMs: number[];
  /** Responses with a status other than 200, by status. */
  failures: Record<string, number>;
  bytes: number;
}

process.on("message", (job: LoadJob) => void run(job).then((result) => process.send?.(result)));

async function run({ url, connections, requests }: LoadJob): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const texts = requests.map((request) => encodeRequest(request, hostname));
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => openConnection(hostname, Number(port))),
  );
  const result: LoadResult = { wallMs: 0, latenciesMs: [], failures: {}, bytes: 0 };
  let next = 0;
  const startedMs = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      const exchange = createExchange(socket);
      for (let bytes = texts[next++]; bytes; bytes = texts[next++]) {
        const sentMs = performance.now();
        const { status, length } = await exchange(bytes);
        result.latenciesMs.push(performance.now() - sentMs);
        result.bytes += length;
        if (status !== "200") result.failures[status] = (result.failures[status] ?? 0) + 1;
      }
    }),
  );
  result.wallMs = performance.now() - startedMs;
  for (const socket of sockets) socket.destroy();
  return result;
}
