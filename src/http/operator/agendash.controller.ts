/** The controller of Agendash, with an Agenda that is never started: it shows the tasks of all processes. */
import { Agenda } from "agenda";
import { AgendashController } from "agendash";
import { unavailable } from "../../platform/errors.ts";
import type { Mongo } from "../../platform/mongo.ts";
import { TaskRepository } from "../../scheduling/api.ts";

/** Returns the controller. Throws ServiceUnavailableException while MongoDB is down. */
export type GetAgendashController = () => Promise<AgendashController>;

const PROCESS_NAME = "dashboard";
/** This Agenda never polls for tasks to run. */
const onPoll = (): void => undefined;
const CONNECT_TIMEOUT_MS = 1_000;
const UNAVAILABLE_MESSAGE =
  "The scheduled tasks can't be shown because MongoDB is unreachable. Everything else keeps working. Try again later.";

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
