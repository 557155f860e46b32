/** An Agenda that is never started, for looking at the jobs of all processes from a process of any role. */
import { Agenda } from "agenda";
import { AgendashController } from "agendash";
import { unavailable } from "../../platform/errors.ts";
import type { Mongo } from "../../platform/mongo.ts";
import { TaskRepository } from "../../scheduling/api.ts";

/** The controller, as long as MongoDB is up. Throws ServiceUnavailableException, with a sentence for who looks. */
export type GetAgendashController = () => Promise<AgendashController>;

const PROCESS_NAME = "dashboard";
/** It never looks for jobs to run. */
const onPoll = (): void => undefined;
const CONNECT_TIMEOUT_MS = 1_000;
const UNAVAILABLE_MESSAGE =
  "The scheduled tasks cannot be shown now: MongoDB, which keeps them, is out of reach. Everything else goes on, and they are here again when it is back.";

export function createAgendashControllerSource(mongo: Mongo): GetAgendashController {
  let controller: AgendashController | null = null;
  const isReachable = (): boolean => mongo.status().state === "up";
  return async () => {
    if (!isReachable()) throw unavailable(UNAVAILABLE_MESSAGE, 5);
    controller ??= await openController(mongo, isReachable);
    return controller;
  };
}

async function openController(mongo: Mongo, isReachable: () => boolean): Promise<AgendashController> {
  const db = await mongo.waitUntilUp(AbortSignal.timeout(CONNECT_TIMEOUT_MS)).catch((error: unknown) => {
    throw unavailable(UNAVAILABLE_MESSAGE, 5, error);
  });
  const repository = new TaskRepository({
    db,
    processName: PROCESS_NAME,
    lockLifetimeMs: 0,
    isReachable,
    onPoll,
  });
  const backend = {
    name: "MongoDB",
    repository,
    ownsConnection: false,
    connect: () => repository.connect(),
    disconnect: () => Promise.resolve(),
  };
  return new AgendashController(new Agenda({ backend, name: PROCESS_NAME, logging: false }));
}
