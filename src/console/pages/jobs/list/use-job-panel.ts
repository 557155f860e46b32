/** The job next to the list, which is part of the URL. */
import { useMediaQuery } from "@mantine/hooks";
import { useNavigate, useRouter, type RouterHistory } from "@tanstack/react-router";
import { useRef } from "react";
import { requestHeadingFocus } from "../../../app/interaction/page-heading.ts";
import { withoutJob, type ColumnId } from "../filters/jobs.search.ts";

/** 1200 px. */
const HAS_ROOM = "(min-width: 75em)";
/** Beside the panel, a list has room for one column, two, or all. */
const HAS_ROOM_FOR_TWO = "(min-width: 85em)";
const HAS_ROOM_FOR_ALL = "(min-width: 106em)";

function historyIndex({ location }: RouterHistory): number {
  const { ["__TSR_index"]: index } = location.state;
  return index;
}

export interface JobPanelState {
  /** The Marking Number; null if no job is open. */
  job: string | null;
  /** Null on a narrow screen, which has no panel. */
  open: ((markingNumber: string) => void) | null;
  close: () => void;
  visibleColumns: (columns: readonly ColumnId[]) => readonly ColumnId[];
}

/** `query`: the list in the URL, without the job. */
export function useJobPanel(job: string | undefined, query: string): JobPanelState {
  const navigate = useNavigate({ from: "/jobs" });
  const { history } = useRouter();
  const hasRoom = useMediaQuery(HAS_ROOM, false, { getInitialValueInEffect: false });
  const hasRoomForTwo = useMediaQuery(HAS_ROOM_FOR_TWO, false, { getInitialValueInEffect: false });
  const hasRoomForAll = useMediaQuery(HAS_ROOM_FOR_ALL, false, { getInitialValueInEffect: false });
  /** The list in the history entry before the one that opened the panel. */
  const openedFrom = useRef<{ index: number; query: string }>(null);
  const show = (next: string | undefined, replace: boolean): void =>
    void navigate({
      search: (former) => ({ ...withoutJob(former), ...(next !== undefined && { job: next }) }),
      replace,
      resetScroll: false,
    });
  return {
    job: job ?? null,
    open: hasRoom
      ? (next) => {
          requestHeadingFocus();
          if (job === undefined) openedFrom.current = { index: historyIndex(history), query };
          // One entry for all jobs, so that Back closes the panel.
          show(next, job !== undefined);
        }
      : null,
    close() {
      const former = openedFrom.current;
      const isBefore = former?.query === query && former.index === historyIndex(history) - 1;
      if (isBefore) history.back();
      else show(undefined, true);
    },
    visibleColumns: (columns) =>
      job === undefined || hasRoomForAll ? columns : columns.slice(0, hasRoomForTwo ? 2 : 1),
  };
}
