/** The watched job in the URL. */
import { textParam, type RawSearch } from "../../app/search-params.ts";

export interface SimulatorSearch {
  /** A Marking Number. Default: the newest job. */
  job?: string | undefined;
}

export function parseSimulatorSearch(search: RawSearch): SimulatorSearch {
  return { job: textParam(search["job"], 120) };
}
