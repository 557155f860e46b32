/** The pages of the guide about the screen that is shown. */
import { useMatches } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import { DEFAULT_SCREEN_GUIDE, screenGuides, type ScreenGuide } from "./guide-pages.ts";

const ScreenGuideContext = createContext(DEFAULT_SCREEN_GUIDE);

export const ScreenGuideProvider = ScreenGuideContext.Provider;

export function useScreenGuide(): ScreenGuide {
  return useContext(ScreenGuideContext);
}

/** For the provider, inside the router. */
export function useMatchedScreenGuide(): ScreenGuide {
  const path = useMatches({ select: (matches): string => matches.at(-1)?.fullPath ?? "" });
  return screenGuides[path.replace(/(?<=.)\/$/, "")] ?? DEFAULT_SCREEN_GUIDE;
}
