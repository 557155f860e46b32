/** The route of the simulator. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { withRepairNotice } from "../app/link-repair.ts";
import { parseSimulatorSearch } from "../pages/simulator/simulator.search.ts";
import { consoleRoute } from "./root.route.tsx";

const simulator = createRoute({
  getParentRoute: () => consoleRoute,
  path: "simulator",
  staticData: { access: "partner", onlyIn: "test" },
  validateSearch: withRepairNotice(parseSimulatorSearch),
  component: lazyRouteComponent(() => import("../pages/simulator/simulator.page.tsx"), "SimulatorPage"),
});

export const simulatorRoutes = [simulator];
