/** The items of the palette, the pages among them, and the match of a text with an item. */
import type { Icon } from "@tabler/icons-react";
import { integrationsFor, navigationFor, type NavEntry } from "../layout/navigation.ts";
import type { Mode } from "../session/mode.ts";
import type { Session } from "../session/session.ts";

export interface PaletteItem {
  id: string;
  label: string;
  description?: string | undefined;
  icon: Icon;
  run: () => void;
}

export interface PaletteGroup {
  label: string;
  items: readonly PaletteItem[];
}

export interface PalettePage extends Pick<NavEntry, "label" | "icon" | "to"> {
  /** The section of the navigation. */
  section: string | undefined;
}

/** The pages of the user's navigation, with those of Integrations in place of the section. */
export function palettePages(session: Session, mode: Mode): PalettePage[] {
  return navigationFor(session, mode).flatMap(({ title, entries }) =>
    entries.flatMap(({ label, icon, to }): PalettePage[] =>
      to === "/integrations"
        ? integrationsFor(session).map((page) => ({
            label: page.label,
            icon: page.icon,
            to: page.to,
            section: label,
          }))
        : [{ label, icon, to, section: title ?? undefined }],
    ),
  );
}

/** True if the label or description has each word, in any order and without regard to case. */
export function matchesText(
  { label, description = "" }: Pick<PaletteItem, "label" | "description">,
  text: string,
): boolean {
  const searched = `${label} ${description}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word));
}
