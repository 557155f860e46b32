/** j and k move through the rows of the page's lists, and x selects. Enter follows the focused link. */
import { useKeys } from "./keys.ts";

interface Row {
  row: Element;
  /** The control that identifies the row, such as the link to its page. */
  target: HTMLElement;
}

export function useListKeys(): void {
  useKeys({ j: () => move(1), k: () => move(-1), x: select });
}

function findRows(): Row[] {
  return [...document.querySelectorAll("main tbody tr")].flatMap((row) => {
    const target =
      row.querySelector<HTMLElement>("[data-title] :is(a, button)") ??
      row.querySelector<HTMLElement>("a, button");
    return target ? [{ row, target }] : [];
  });
}

/** Moves the focus, so that screen readers announce the row and Enter works without help. */
function move(step: 1 | -1): boolean {
  const rows = findRows();
  const current = rows.findIndex(hasFocus);
  const next = current === -1 ? rows[0] : (rows[current + step] ?? rows[current]);
  if (!next) return false;
  next.target.focus({ preventScroll: true });
  next.row.scrollIntoView({ block: "nearest" });
  return true;
}

function select(): boolean {
  const tick = findRows().find(hasFocus)?.row.querySelector<HTMLInputElement>("input[type=checkbox]:enabled");
  tick?.click();
  return tick !== undefined && tick !== null;
}

function hasFocus({ row }: Row): boolean {
  return row.contains(document.activeElement);
}
