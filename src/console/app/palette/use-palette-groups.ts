/** The groups of the palette for a text: everything that the user may open or do, and the jobs that the text finds. */
import { IconHistory, IconLink, IconPackage, IconSearch } from "@tabler/icons-react";
import { linkOptions, useRouter, type LinkOptions } from "@tanstack/react-router";
import type { PaletteJobFragment } from "../../generated/palette.ts";
import { readRecentJobs } from "../recent-jobs.ts";
import { useMode, type Session } from "../session/session.ts";
import { canOpen } from "./can-open.ts";
import { isSearch, pageOfId } from "./palette.ids.ts";
import { matchesText, palettePages, type PaletteGroup, type PaletteItem } from "./palette.items.ts";
import { useFoundJobs } from "./use-found-jobs.ts";
import { usePaletteActions } from "./use-palette-actions.ts";

export function usePaletteGroups(session: Session, text: string): PaletteGroup[] {
  const router = useRouter();
  const mode = useMode();
  const actions = usePaletteActions(session);
  const { exact, others, findExact } = useFoundJobs(text);

  const go = (link: LinkOptions) => (): void => void router.navigate(link);
  const jobItem = (markingNumber: string, item: Omit<PaletteItem, "label" | "run">): PaletteItem => ({
    ...item,
    label: markingNumber,
    run: go(jobLink(markingNumber)),
  });
  const foundJob = ({ id, markingNumber, status, recipientName }: PaletteJobFragment): PaletteItem => {
    const description = recipientName === null ? status.label : `${status.label} · ${recipientName}`;
    return jobItem(markingNumber, { id, description, icon: IconPackage });
  };
  const pages = palettePages(session, mode).map(({ label, icon, to, section }) => {
    return { id: `page-${to}`, label, description: section, icon, run: go({ to }) };
  });
  const idItems = (): PaletteItem[] => {
    const page = pageOfId(text);
    if (!page || !canOpen(router, page.link.to, session, mode)) return [];
    const label = `Open ${page.noun}`;
    return [{ id: "id", label, description: text, icon: IconLink, run: go(page.link) }];
  };
  const searchItems = (): PaletteItem[] => {
    if (!isSearch(text)) return [];
    // If the user pastes a Marking Number and presses Enter at once, its job is not listed yet.
    const run = async (): Promise<void> => {
      const job = await findExact();
      await router.navigate(job ? jobLink(job.markingNumber) : { to: "/jobs", search: { q: text } });
    };
    return [{ id: "search", label: `Search jobs for “${text}”`, icon: IconSearch, run: () => void run() }];
  };

  if (text === "") {
    const recent = readRecentJobs(session.user.id, mode).map((markingNumber) =>
      jobItem(markingNumber, { id: `recent-${markingNumber}`, icon: IconHistory }),
    );
    return nonEmpty({ "Recent jobs": recent, Pages: pages, Actions: actions });
  }
  return nonEmpty({
    "Go to": [...(exact ? [foundJob(exact)] : []), ...idItems()],
    "Pages and actions": [...pages, ...actions].filter((item) => matchesText(item, text)),
    Jobs: [...searchItems(), ...others.map(foundJob)],
  });
}

function jobLink(markingNumber: string) {
  return linkOptions({ to: "/jobs/$markingNumber", params: { markingNumber } });
}

/** The groups in their order, without those that have no items. */
function nonEmpty(itemsByGroup: Readonly<Record<string, readonly PaletteItem[]>>): PaletteGroup[] {
  return Object.entries(itemsByGroup)
    .map(([label, items]) => ({ label, items }))
    .filter(({ items }) => items.length > 0);
}
