/** Connects to the `mongod` of a folder and configures its replica set. */
import { connect } from "node:net";
import { MongoClient, MongoServerError, type Db, type Document } from "mongodb";
import { withTimeout } from "../../core/concurrency/timeout.ts";
import { NotYet } from "../retry.ts";

export const replicaSet = "rs0";
/** After a lost connection, an operation of the driver may never settle. */
const timeoutMs = 5_000;
/** MongoDB error codes. `invalidReplicaSetConfig` also occurs when the data folder was moved, so the socket path changed. */
const notYetInitialized = 94;
const invalidReplicaSetConfig = 93;

export function mongoUrl(socket: string, database: string): string {
  return `mongodb://${encodeURIComponent(socket)}/${database}?directConnection=true`;
}

/** Resolves once `mongod` accepts writes. Throws NotYet. */
export async function connectToMongod(socket: string): Promise<void> {
  if (!(await canConnect(socket))) throw new NotYet("MongoDB is starting, which takes longer after a crash.");
  const client = new MongoClient(mongoUrl(socket, "admin"), {
    serverSelectionTimeoutMS: 500,
    maxPoolSize: 1,
  });
  try {
    if ((await withTimeout(prepareReplicaSet(client.db(), socket), timeoutMs)) === true) return;
  } catch (error) {
    throw new NotYet(`MongoDB is starting or stopping: ${String(error)}.`);
  } finally {
    await withTimeout(client.close(), timeoutMs);
  }
  throw new NotYet("Waiting until MongoDB accepts writes.");
}

/** The driver would try a missing socket again only after half a second. */
function canConnect(socket: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const connection = connect(socket);
  connection.once("connect", () => resolve(true));
  connection.once("error", () => resolve(false));
  return promise.finally(() => connection.destroy());
}

/** Returns true if MongoDB accepts writes. Initiates the replica set; its only member's host is the socket path. */
async function prepareReplicaSet(admin: Db, socket: string): Promise<boolean> {
  const { isWritablePrimary } = await admin.command({ hello: 1 });
  if (isWritablePrimary === true) return true;
  const code = await admin.command({ replSetGetStatus: 1 }).then(() => null, codeOf);
  if (code === notYetInitialized) {
    await admin.command({ replSetInitiate: { _id: replicaSet, members: [{ _id: 0, host: socket }] } });
  } else if (code === invalidReplicaSetConfig) {
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: Document };
    const [member] = config["members"] as Document[];
    const moved = { version: Number(config["version"]) + 1, members: [{ ...member, host: socket }] };
    await admin.command({ replSetReconfig: { ...config, ...moved }, force: true });
  }
  return false;
}

function codeOf(error: unknown): unknown {
  if (error instanceof MongoServerError) return error.code;
  throw error;
}
