/**
 * The real shape on one machine, by the commands of docker-compose.yml: a PostgreSQL, a MongoDB replica set, the schema
 * migrated once, APIs behind a balancer, and workers. All of it listens on 127.0.0.1, on ports of its own.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBalancer, type Balancer } from "./balancer.ts";
import { readCompose, type ComposeService } from "./compose.ts";
import { startMongo, startPostgres } from "./databases.ts";
import { createMember, type Member } from "./member.ts";
import { findFreePort } from "./free-port.ts";
import { readLogTail, startProgram } from "./process.ts";

export interface ClusterOptions {
  /** A `mongod` (src/embedded/mongo/binary.ts finds one). */
  readonly mongodBinary: string;
  readonly apis?: number;
  readonly workers?: number;
  /** WAYMARK_SECRET; one is made up unless it is given. */
  readonly secret?: string;
  /** Settings of each Waymark, over those of docker-compose.yml and the cluster's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the balancer listens; anywhere unless it is given. */
  readonly port?: number;
  readonly onProgress?: (sentence: string) => void;
}

export interface Cluster extends AsyncDisposable {
  /** The balancer's. */
  readonly url: string;
  readonly balancer: Balancer;
  readonly apis: readonly Member[];
  readonly workers: readonly Member[];
  readonly databaseUrl: string;
  readonly mongoUrl: string;
  /** Holds everything, logs included; it goes with the cluster. */
  readonly folder: string;
  /** Runs a command of Waymark's command line to its end, and answers with what it printed, errors included. */
  run(name: string, ...args: string[]): Promise<string>;
}

/** How long an API that stops is open: to a balancer that looks five times a second, on a machine that may be busy. */
const SHUTDOWN_DRAIN_DELAY = "3s";

/** Resolves once every member is ready. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { onProgress = () => undefined } = options;
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "waymark-cluster-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const publicPort = options.port ?? (await findFreePort());
  const url = `http://127.0.0.1:${publicPort}`;
  const secret = options.secret ?? randomBytes(32).toString("base64");
  const compose = await readCompose({ WAYMARK_SECRET: secret, PUBLIC_URL: url });

  onProgress("PostgreSQL and MongoDB are starting.");
  const { url: databaseUrl } = opened.use(await startPostgres(folder));
  const mongoParts = { folder, binary: options.mongodBinary, command: compose.mongodb.command };
  const { url: mongoUrl } = opened.use(await startMongo(mongoParts));
  const addresses = { DATABASE_URL: databaseUrl, MONGODB_URL: mongoUrl };
  const environment = { ...clusterEnvironment(folder), ...addresses, ...options.env };
  const run = createCommandRunner({ folder, environment, service: compose.migrate });
  onProgress("The schema is migrated.");
  await run("migrate", ...compose.migrate.command.slice(2));

  const { apis = 2, workers = 2 } = options;
  onProgress(`${apis} APIs and ${workers} workers are starting.`);
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
  const backends = members.apis.map((api) => api.url);
  const balancer = opened.use(await startBalancer({ backends, port: publicPort }));
  const resources = opened.move();
  return {
    ...members,
    url,
    balancer,
    databaseUrl,
    mongoUrl,
    folder,
    run,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** What an operator sets in front of docker-compose.yml for more than one API, and this machine in the place of containers. */
function clusterEnvironment(folder: string): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    TRUST_PROXY: "1",
    // A container has its ports to itself; here they would be the same for all.
    METRICS_PORT: "",
    SHUTDOWN_DRAIN_DELAY,
    // Mails stay in the folder, and webhooks may go to receivers on this machine.
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

/** A container has its address to itself; here a port tells members apart. */
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

/** The image's `node` is the one that runs here. */
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
