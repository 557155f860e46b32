/**
 * Runs the services of docker-compose.yml on one machine, without containers: PostgreSQL, a MongoDB replica set, the migration,
 * APIs and workers. Everything listens on 127.0.0.1, each on a free port.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCompose, type ComposeService } from "./compose.ts";
import { startMongo, startPostgres } from "./databases.ts";
import { createMember, type Member } from "./member.ts";
import { findFreePort, readLogTail, startProgram } from "./process.ts";

export interface ClusterOptions {
  /** Path of a `mongod`, such as `findMongodBinary` returns. */
  readonly mongodBinary: string;
  readonly apis?: number;
  readonly workers?: number;
  /** WAYMARK_SECRET. Default: random. */
  readonly secret?: string;
  /** Settings of every Waymark process. They override those of docker-compose.yml and of the cluster. */
  readonly env?: Readonly<Record<string, string>>;
  /** PUBLIC_URL. */
  readonly publicUrl: string;
  readonly onProgress?: (sentence: string) => void;
}

export interface Cluster extends AsyncDisposable {
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly databaseUrl: string;
  readonly mongoUrl: string;
  /** Contains all data and logs. It is deleted with the cluster. */
  readonly folder: string;
  /** Runs a command of Waymark's command line and returns its output; throws if it exits with another code than 0. */
  run(name: string, ...args: string[]): Promise<string>;
}

/** An API keeps listening this long after SIGTERM. A balancer may check every 200 ms; the rest is for a busy machine. */
const SHUTDOWN_DRAIN_DELAY = "3s";

/** Resolves once every process is ready. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { onProgress = () => undefined } = options;
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "waymark-cluster-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const secret = options.secret ?? randomBytes(32).toString("base64");
  const compose = await readCompose({ WAYMARK_SECRET: secret, PUBLIC_URL: options.publicUrl });

  onProgress("Starting PostgreSQL and MongoDB.");
  const { url: databaseUrl } = opened.use(await startPostgres(folder));
  const mongoParts = { folder, binary: options.mongodBinary, command: compose.mongodb.command };
  const { url: mongoUrl } = opened.use(await startMongo(mongoParts));
  const addresses = { DATABASE_URL: databaseUrl, MONGODB_URL: mongoUrl };
  const environment = { ...clusterEnvironment(folder), ...addresses, ...options.env };
  const run = createCommandRunner({ folder, environment, service: compose.migrate });
  onProgress("Migrating the schema.");
  await run("migrate", ...compose.migrate.command.slice(2));

  const { apis = 2, workers = 2 } = options;
  onProgress(`Starting ${apis} APIs and ${workers} workers.`);
  const make = (role: "api" | "worker", count: number): Promise<Member[]> =>
    Promise.all(
      Array.from({ length: count }, (_, at) =>
        createClusterMember(compose[role], { name: `${role}-${at + 1}`, folder, environment }),
      ),
    );
  const members = { apis: await make("api", apis), workers: await make("worker", workers) };
  const all = [...members.apis, ...members.workers];
  opened.defer(async () => void (await Promise.all(all.map((member) => member.stop()))));
  await Promise.all(all.map((member) => member.start()));
  const resources = opened.move();
  return {
    ...members,
    databaseUrl,
    mongoUrl,
    folder,
    run,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** What an operator sets for more than one API, and what replaces the isolation of containers. */
function clusterEnvironment(folder: string): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    TRUST_PROXY: "1",
    // Containers could all use the same port; processes on one machine cannot.
    METRICS_PORT: "",
    SHUTDOWN_DRAIN_DELAY,
    // Without SMTP_URL, mails stay in the folder.
    SMTP_URL: "",
    WEBHOOK_ALLOW_PRIVATE: "on",
    WAYMARK_DATA_DIR: join(folder, "waymark"),
    LOG_LEVEL: "warn",
  };
}

interface MemberDeps {
  readonly name: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Each process has its own port, because they share one IP address. */
async function createClusterMember(
  service: ComposeService,
  { name, folder, environment }: MemberDeps,
): Promise<Member> {
  const port = await findFreePort();
  return createMember({
    name,
    url: `http://127.0.0.1:${port}`,
    ...resolveProgram(service, service.command.slice(1)),
    env: { ...service.environment, ...environment, PORT: String(port) },
    logFile: join(folder, `${name}.log`),
  });
}

/** Uses this process's Node in place of the image's `node`. */
function resolveProgram({ command: [program = ""] }: ComposeService, args: readonly string[]) {
  return { command: program === "node" ? process.execPath : program, args };
}

interface RunDeps extends Pick<MemberDeps, "folder" | "environment"> {
  readonly service: ComposeService;
}

function createCommandRunner({ folder, environment, service }: RunDeps): Cluster["run"] {
  return async (name, ...args) => {
    const logFile = join(folder, `${name}.log`);
    const env = { ...service.environment, ...environment };
    const [, script = ""] = service.command;
    const program = await startProgram({ ...resolveProgram(service, [script, ...args]), env, logFile });
    const code = await program.ended;
    const printed = await readLogTail(logFile);
    if (code !== 0) throw new Error(`${name} ended with ${code}:\n${printed}`);
    return printed;
  };
}
