/** The edge of a heading that changes the width of its column, by pointer, arrow keys, or a double click, which resets it. */
import type { KeyboardEvent, PointerEvent } from "react";
import classes from "./data-table.module.css";
import type { ColumnWidths, WidthState } from "./use-column-widths.ts";

const MIN_WIDTH = 56;
const MAX_WIDTH = 900;
const KEY_STEP = 16;

interface ResizeHandleProps {
  id: string;
  header: string;
  state: WidthState;
}

export function ResizeHandle({ id, header, state }: ResizeHandleProps) {
  const resizeBy = (cell: Element, step: number, from = measure(cell)): void =>
    state.set({ ...from, [id]: clamp((from[id] ?? 0) + step) });
  const drag = (down: PointerEvent<HTMLElement>): void => {
    const { currentTarget: handle, pointerId, clientX } = down;
    if (down.button !== 0) return;
    down.preventDefault();
    handle.setPointerCapture(pointerId);
    const from = measure(handle);
    const move = (event: globalThis.PointerEvent): void => resizeBy(handle, event.clientX - clientX, from);
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), {
      once: true,
    });
  };
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    resizeBy(event.currentTarget, step);
  };
  return (
    <div
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${header}`}
      aria-valuemin={MIN_WIDTH}
      aria-valuemax={MAX_WIDTH}
      aria-valuenow={state.widths[id] ?? MIN_WIDTH}
      aria-valuetext={state.widths[id] === undefined ? "fits the content" : `${state.widths[id]} pixels`}
      className={classes.resize}
      onPointerDown={drag}
      onKeyDown={press}
      onDoubleClick={state.reset}
    />
  );
}

function clamp(width: number): number {
  return Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
}

/** Returns the widths of all columns except the last. Storing all of them keeps the other columns in place. */
function measure(cell: Element): ColumnWidths {
  const headings = [...(cell.closest("tr")?.querySelectorAll<HTMLElement>("th[data-column]") ?? [])];
  return Object.fromEntries(
    headings.slice(0, -1).map((th) => [th.dataset["column"] ?? "", Math.round(th.offsetWidth)]),
  );
}
