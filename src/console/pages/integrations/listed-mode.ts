/** Whether an operator's list shows live or test data, in the URL. Partners choose the mode of the whole console instead. */
import { enumParam, type RawSearch } from "../../app/search-params.ts";

export interface ListedModeSearch {
  /** Absent: live. */
  mode?: "test" | undefined;
}

export function parseListedMode(search: RawSearch): ListedModeSearch {
  return { mode: enumParam(search["mode"], ["test"]) };
}

/** Returns the argument `mode` of a query. */
export function listedMode({ mode }: ListedModeSearch): "TEST" | undefined {
  return mode === "test" ? "TEST" : undefined;
}
