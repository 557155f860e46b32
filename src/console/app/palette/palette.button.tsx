/** Opens the palette, for users who do not know its keys. */
import { ActionIcon, Button, Kbd } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { PALETTE_KEYS } from "../interaction/keys.ts";
import { openLayer } from "./palette.layer.ts";

const shortcut = { "aria-keyshortcuts": "Control+K Meta+K", "aria-haspopup": "dialog" } as const;

export function PaletteButton() {
  return (
    <Button
      {...shortcut}
      variant="default"
      fullWidth
      styles={{ label: { flex: 1, fontWeight: 400 } }}
      mb="sm"
      leftSection={<IconSearch size={16} aria-hidden="true" />}
      rightSection={
        <Kbd size="xs" aria-hidden="true">
          {PALETTE_KEYS.join(" ")}
        </Kbd>
      }
      onClick={() => openLayer("palette")}
    >
      Search
    </Button>
  );
}

/** For the header of a phone. */
export function PaletteIcon() {
  return (
    <ActionIcon {...shortcut} aria-label="Search" onClick={() => openLayer("palette")}>
      <IconSearch size={20} stroke={1.7} aria-hidden="true" />
    </ActionIcon>
  );
}
