/** Switches the whole console between live and test mode, and opens the page that fits. */
import { useRouter } from "@tanstack/react-router";
import type { Mode } from "../session/mode.ts";
import { useSwitchMode } from "../session/use-switch-mode.ts";

export function useChangeMode(): (mode: Mode) => Promise<void> {
  const switchMode = useSwitchMode();
  const openPage = useOpenPageOfMode();
  return async (mode) => {
    if (await switchMode(mode)) await openPage(mode);
  };
}

/** Stays on the page without its filters. From a page of one object it opens the list, and from one of the other mode the dashboard. */
function useOpenPageOfMode(): (mode: Mode) => Promise<void> {
  const router = useRouter();
  return async (mode) => {
    const { matches } = router.state;
    const page = matches.at(-1);
    const isOfMode = matches.every(({ staticData }) => (staticData.onlyIn ?? mode) === mode);
    const isOfOneObject = /\/\$\w+$/.test(page?.fullPath ?? "");
    const path = page?.pathname ?? "/";
    const to = !isOfMode ? "/" : isOfOneObject ? path.slice(0, path.lastIndexOf("/")) : path;
    await router.navigate({ to, search: {}, ignoreBlocker: true });
  };
}
