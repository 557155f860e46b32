/** The public API of test mode. Other modules import only from here. */
export { readFirstSteps } from "./first-steps.sql.ts";
export {
  FEED_STATUS,
  parseSimulation,
  SIMULATE_HEADER,
  simulatedFailure,
  type SimulatedStatus,
  simulatedStatuses,
  SLOW,
} from "./simulation.ts";
export { TestModeService } from "./service.ts";
export { applyDueSteps } from "./test-run.driver.ts";
export { TestUseService } from "./test-use.ts";
export { TestRun } from "./test-run.entity.ts";
