/** Connects to the `mongod` of a folder and configures its replica set. */
import { MongoClient, MongoServerError, type Db, type Document } from "mongodb";
import { withTimeout } from "../../platform/concurrency/timeout.ts";
import { StartupError } from "../../platform/errors.ts";
import { replicaSet, type MongoFolder } from "./mongod.ts";
import type { StartupWait } from "../startup-wait.ts";

const retryDelayMs = 20;
/** After a lost connection, an operation of the driver may never settle. */
const operationTimeoutMs = 5_000;
/** MongoDB error codes. `invalidReplicaSetConfig` also occurs when the data folder was moved, so the socket path changed. */
const notYetInitialized = 94;
const invalidReplicaSetConfig = 93;
const alreadyInitialized = 23;

/** Returns the connection string of `folder`'s MongoDB. */
export function mongoUrl(folder: MongoFolder, database: string): string {
  return `mongodb://${encodeURIComponent(folder.socket)}/${database}?directConnection=true`;
}

/** Resolves to true once `mongod` accepts writes; to false if the connection failed. Throws StartupError. */
export async function waitUntilWritable(folder: MongoFolder, wait: StartupWait): Promise<boolean> {
  const client = new MongoClient(mongoUrl(folder, "admin"), {
    serverSelectionTimeoutMS: 500,
    maxPoolSize: 1,
  });
  try {
    await client.connect();
    const admin = client.db();
    while ((await run(admin, { hello: 1 }))["isWritablePrimary"] !== true) {
      await repairReplicaSet(admin, folder.socket);
      await wait.pauseOrFail("Waiting until MongoDB accepts writes.", retryDelayMs);
    }
    return true;
  } catch (error) {
    if (error instanceof StartupError) throw error;
    await wait.pauseOrFail("MongoDB is starting or stopping and does not respond yet.", retryDelayMs);
    return false;
  } finally {
    await withTimeout(client.close(), operationTimeoutMs);
  }
}

/** Rejects after 5 s. */
function run(admin: Db, command: Document): Promise<Document> {
  return withTimeout(admin.command(command), operationTimeoutMs, (): never => {
    throw new Error("MongoDB did not respond within 5 seconds.");
  });
}

/** Initiates the replica set, or updates its only member, whose host is the socket path, after the folder was moved. */
async function repairReplicaSet(admin: Db, socket: string): Promise<void> {
  const state = await errorCodeOf(run(admin, { replSetGetStatus: 1 }));
  if (state === notYetInitialized) {
    const config = { _id: replicaSet, members: [{ _id: 0, host: socket }] };
    const failure = await errorCodeOf(run(admin, { replSetInitiate: config }));
    if (failure !== null && failure !== alreadyInitialized)
      failWith("could not initiate its replica set", failure);
  } else if (state === invalidReplicaSetConfig) {
    const { config } = (await run(admin, { replSetGetConfig: 1 })) as { config: Document };
    const [member] = config["members"] as Document[];
    const moved = {
      ...config,
      version: Number(config["version"]) + 1,
      members: [{ ...member, host: socket }],
    };
    const failure = await errorCodeOf(run(admin, { replSetReconfig: moved, force: true }));
    if (failure !== null) failWith("could not rename the only member of its replica set", failure);
  }
}

function failWith(problem: string, code: number): never {
  throw new StartupError(
    `The embedded MongoDB ${problem} (MongoDB error ${code}).`,
    "See mongo.log in the data folder, or set MONGODB_URL to your own MongoDB.",
  );
}

/** Returns the MongoDB error code; null if the command succeeded. Rethrows other errors. */
async function errorCodeOf(command: Promise<Document>): Promise<number | null> {
  try {
    await command;
    return null;
  } catch (error) {
    if (error instanceof MongoServerError && typeof error.code === "number") return error.code;
    throw error;
  }
}
