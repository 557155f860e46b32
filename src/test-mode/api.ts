/** The public API of test mode. Other modules import only from here. */
export { readFirstSteps } from "./first-steps.sql.ts";
export { pathNames } from "./paths.ts";
export {
  parseSimulation,
  SIMULATE_HEADER,
  simulatedFailure,
  type SimulatedStatus,
  simulatedStatuses,
  SLOW,
} from "./simulation.ts";
export { JOBS_PER_REQUEST, MAX_TEST_JOBS, TestModeService, type TestPrincipal } from "./test-mode.service.ts";
export { type JobRun, MAX_STEPS, STEP_INTERVAL } from "./test-run.changes.ts";
export { applyDueSteps } from "./test-run.driver.ts";
export { type TestUse, TestUseService } from "./test-use.ts";
export { TestRun } from "./test-run.entity.ts";
