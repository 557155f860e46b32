/** The keys that work on every page, and the palette and list of keys that they open. */
import { useEffect, useState } from "react";
import { focusSearchField, useKeys, usePaletteKey } from "../interaction/keys.ts";
import { useListKeys } from "../interaction/list-keys.ts";
import type { Session } from "../session/session.ts";
import type * as paletteParts from "./palette.parts.ts";
import { closeLayer, openLayer, usePaletteLayer, type PaletteLayer } from "./palette.layer.ts";

type Parts = typeof paletteParts;

export function PaletteHost({ session }: { session: Session }) {
  const layer = usePaletteLayer();
  const [parts, setParts] = useState<Parts | null>(null);
  useEffect(() => {
    if (layer === null || parts !== null) return;
    import("./palette.parts.ts").then(setParts, (error: unknown) => {
      closeLayer(layer);
      void showError(error);
    });
  }, [layer, parts]);

  usePaletteKey(layer === "palette", () => (layer === "palette" ? closeLayer(layer) : openLayer("palette")));
  useKeys({ "/": () => focusSearchField() || open("palette"), "?": () => open("keys") });
  useListKeys();

  if (parts === null) return null;
  return (
    <>
      <parts.Palette session={session} isOpen={layer === "palette"} onClose={() => closeLayer("palette")} />
      <parts.KeysDialog isOpen={layer === "keys"} onClose={() => closeLayer("keys")} />
    </>
  );
}

function open(layer: PaletteLayer): boolean {
  openLayer(layer);
  return true;
}

async function showError(error: unknown): Promise<void> {
  const { notifyError } = await import("../interaction/toasts.tsx");
  notifyError(error);
}
