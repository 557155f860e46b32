/** Starts the cluster under test, with a heap probe in each process, and the processes that generate and receive traffic. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { findMongodBinary } from "../../src/embedded/mongo/binary.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { readPostmasterPid } from "../database.ts";
import { endProcess, startProcess } from "../servers.ts";
import { RETRY_SCHEDULE } from "./plan.ts";

export interface SoakProcess {
  /** Such as `api-1` or `worker-2`. */
  name: string;
  role: "api" | "worker";
  url: string;
  pid: number;
  logFile: string;
  heapFile: string;
}

export interface SoakProcesses extends AsyncDisposable {
  cluster: Cluster;
  processes: SoakProcess[];
  client: pg.Client;
  postmasterPid: number;
  mongodPid: number;
}

export const soakSecret = Buffer.alloc(32, "soak");

export async function startSoakProcesses(onProgress: (text: string) => void): Promise<SoakProcesses> {
  await using opened = new AsyncDisposableStack();
  const cacheHome = process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "", ".cache");
  const binary = process.env["MONGOD_BINARY"] ?? null;
  const sources = { binary, cacheDir: join(cacheHome, "waymark"), download: "any" as const };
  const mongodBinary = await findMongodBinary(sources, onProgress, new AbortController().signal);
  const heaps = opened.adopt(await mkdtemp(join(tmpdir(), "waymark-soak-")), (made) =>
    rm(made, { recursive: true, force: true }),
  );
  const probe = pathToFileURL(join(import.meta.dirname, "heap-probe.ts")).href;
  const cluster = opened.use(
    await startCluster({
      mongodBinary,
      secret: soakSecret.toString("base64"),
      env: {
        LOG_LEVEL: "info",
        WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE,
        NODE_OPTIONS: `--import=${probe}`,
        SOAK_HEAP_FOLDER: heaps,
      },
      onProgress,
    }),
  );
  const { databaseUrl, folder, apis, workers } = cluster;
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "soak" });
  await client.connect();
  opened.defer(() => client.end());
  const processes = [...apis, ...workers].map((member) => ({
    name: member.name,
    role: apis.includes(member) ? ("api" as const) : ("worker" as const),
    url: member.url,
    pid: member.pid(),
    logFile: member.logFile,
    heapFile: join(heaps, String(member.pid())),
  }));
  const resources = opened.move();
  return {
    cluster,
    processes,
    client,
    postmasterPid: await readPostmasterPid(folder),
    mongodPid: Number(await readFile(join(folder, "mongo", "mongod.lock"), "utf8")),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A process of the soak that is not part of the cluster. */
export interface HelperProcess<Command, Message> extends AsyncDisposable {
  pid: number;
  send(command: Command): void;
  /** Resolves with the next message; rejects if the process ends. */
  nextMessage(): Promise<Message>;
}

export function startHelperProcess<Command extends object, Message>(
  file: string,
): HelperProcess<Command, Message> {
  const child = startProcess(`soak/${file}`, {}, []);
  return {
    pid: child.pid as number,
    send: (command) => void child.send(command),
    nextMessage: () => nextMessage<Message>(child, file),
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

async function nextMessage<T>(child: ChildProcess, name: string): Promise<T> {
  const received = new AbortController();
  const ended = once(child, "exit", { signal: received.signal }).then(([code]) => {
    throw new Error(`${name} ended early (${String(code)})`);
  });
  try {
    const [message] = (await Promise.race([once(child, "message", { signal: received.signal }), ended])) as [
      T,
    ];
    return message;
  } finally {
    received.abort();
    ended.catch(() => undefined);
  }
}
