/** Loads a page's code when it is opened. */
import { lazyRouteComponent } from "@tanstack/react-router";
import { OfflineError } from "./api/client.ts";
import { serverUrl } from "./api/server-url.ts";

/**
 * As `lazyRouteComponent`, which reloads the document if the code is missing because a newer version was deployed. If the server
 * cannot be reached, a reload would end in the browser's error page, so that throws OfflineError instead.
 */
export const lazyPage: typeof lazyRouteComponent = (importPage, exportName) =>
  lazyRouteComponent(async () => {
    try {
      return await importPage();
    } catch (error) {
      await fetch(serverUrl("health/live")).catch((cause: unknown) => {
        throw new OfflineError(cause);
      });
      throw error;
    }
  }, exportName);
