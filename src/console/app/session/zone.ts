/** The time zone of the days and times that the console shows: the organisation's, for operators UTC. */
import { useSyncExternalStore } from "react";
import { today } from "../../pages/jobs/job.due.ts";
import { subscribeToClock } from "../clock.ts";
import { useOptionalSession } from "./session.ts";

export function useZone(): string {
  return useOptionalSession()?.organization?.time_zone ?? "UTC";
}

/** Changes within seconds after midnight. */
export function useToday(): string {
  const zone = useZone();
  return useSyncExternalStore(subscribeToClock, () => today(zone));
}
