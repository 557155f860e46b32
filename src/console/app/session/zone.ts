/** The time zone of the days and times that the console shows: the organisation's, for operators UTC. */
import { today } from "../../pages/jobs/job.due.ts";
import { useOptionalSession } from "./session.ts";

export function useZone(): string {
  return useOptionalSession()?.organization?.time_zone ?? "UTC";
}

export function useToday(): string {
  return today(useZone());
}
