/** The route of the simulator. */
import { createRoute } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
import { withRepairNotice } from "../app/link-repair.ts";
import { consoleRoute } from "./root.route.tsx";
import { textParam, type RawSearch } from "../app/search-params.ts";

const simulator = createRoute({
  getParentRoute: () => consoleRoute,
  path: "simulator",
  staticData: { access: "simulator", onlyIn: "test" },
  validateSearch: withRepairNotice(parseSimulatorSearch),
  component: lazyPage(() => import("../pages/simulator/simulator.page.tsx"), "SimulatorPage"),
});

export const simulatorRoutes = [simulator];

interface SimulatorSearch {
  /** A Marking Number. Default: the newest job. */
  job?: string | undefined;
}

/** The watched job in the URL. */
function parseSimulatorSearch(search: RawSearch): SimulatorSearch {
  return { job: textParam(search["job"], 120) };
}
