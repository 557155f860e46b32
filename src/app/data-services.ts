/** Composes the services of jobs, keys and organisations, for the server and the command line. */
import { ApiKeyService } from "../api-keys/api.ts";
import type { AppContext } from "./context.ts";
import { createEventNotifier } from "../events/api.ts";
import { createJobReferenceData, ImportService, JobService, OperatorJobService } from "../jobs/api.ts";
import type { RecordAccessChange } from "../mail/api.ts";
import { OrganizationService } from "../organizations/api.ts";
import { TestModeService, TestUseService } from "../test-mode/api.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Principal } from "../core/principal.ts";

interface DataServiceDeps extends Pick<AppContext, "database" | "clock"> {
  notifyWorkers: () => void;
  recordAccessChange: RecordAccessChange;
  /** Absent: the steps of test runs wait for the next sweep. */
  scheduleStep?: ((atMs: number) => void) | undefined;
  /** Absent: this process logs no requests. */
  flushRequestLog?: (() => Promise<void>) | undefined;
}

/** Without `readerFor`, lists read from `database`. */
export function createDataServices(deps: DataServiceDeps, readerFor?: (principal: Principal) => Queryable) {
  const { database, notifyWorkers, clock, scheduleStep, flushRequestLog } = deps;
  const referenceData = createJobReferenceData(database);
  const notifySubscribers = createEventNotifier(database);
  const jobDeps = { database, referenceData, notifyWorkers, notifySubscribers };
  const organizations = new OrganizationService({ database });
  const testMode = new TestModeService({ ...jobDeps, clock, scheduleStep, flushRequestLog });
  return {
    referenceData,
    jobs: new JobService({ ...jobDeps, ...(readerFor && { readerFor }) }),
    testMode,
    testUse: new TestUseService({ ...deps, testMode }),
    operations: new OperatorJobService(jobDeps),
    imports: new ImportService({ ...jobDeps, organizations }),
    keys: new ApiKeyService(deps),
    organizations,
  };
}
