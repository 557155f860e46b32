/** An Agenda that is never started, for looking at the jobs of all processes from a process of any role. */
import { Agenda } from "agenda";
import { AgendashController } from "agendash";
import { unavailable } from "../platform/errors.ts";
import type { Mongo } from "../platform/mongo.ts";
import { SharedJobRepository } from "./job-repository.ts";

/** The controller, as long as MongoDB is up. Throws ServiceUnavailableException, with a sentence for who looks. */
export type ControllerSource = () => Promise<AgendashController>;

const NAME = "dashboard";
/** It never looks for jobs to run. */
const onLook = (): void => undefined;
const PATIENCE_MS = 1_000;
const AWAY =
  "The scheduled tasks cannot be shown now: MongoDB, which keeps them, is out of reach. Everything else goes on, and they are here again when it is back.";

export function createControllerSource(mongo: Mongo): ControllerSource {
  let controller: AgendashController | null = null;
  const isReachable = (): boolean => mongo.status().state === "up";
  return async () => {
    if (!isReachable()) throw unavailable(AWAY, 5);
    controller ??= await openController(mongo, isReachable);
    return controller;
  };
}

async function openController(mongo: Mongo, isReachable: () => boolean): Promise<AgendashController> {
  const db = await mongo.whenUp(AbortSignal.timeout(PATIENCE_MS)).catch((error: unknown) => {
    throw unavailable(AWAY, 5, error);
  });
  const repository = new SharedJobRepository({ db, name: NAME, lockLifetimeMs: 0, isReachable, onLook });
  const backend = {
    name: "MongoDB",
    repository,
    ownsConnection: false,
    connect: () => repository.connect(),
    disconnect: () => Promise.resolve(),
  };
  return new AgendashController(new Agenda({ backend, name: NAME, logging: false }));
}
