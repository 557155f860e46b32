/** Which of the two layers over the page is open. Their code is loaded when one opens first. */
import { useSyncExternalStore } from "react";

/** `palette`: search and actions; `keys`: the list of keys. */
export type PaletteLayer = "palette" | "keys";

let open: PaletteLayer | null = null;
const listeners = new Set<() => void>();

export function openLayer(layer: PaletteLayer): void {
  set(layer);
}

/** Does nothing if the other layer was opened meanwhile. */
export function closeLayer(layer: PaletteLayer): void {
  if (open === layer) set(null);
}

function set(layer: PaletteLayer | null): void {
  open = layer;
  for (const listener of listeners) listener();
}

export function usePaletteLayer(): PaletteLayer | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => open,
  );
}
