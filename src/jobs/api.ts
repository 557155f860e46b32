/** The public API of the jobs feature. Other modules import only from here. */
export { JobCounter, JobCounterDelta } from "./counters/entity.ts";
export { compactCounters, counterRowsSql, rebuildCounters } from "./counters/counters.sql.ts";
export { type JobStats, MAX_GROUPS } from "./counters/stats.sql.ts";
export { type ColumnMapping, dateOrders, fileColumns, isFileColumn } from "./import-export/file-codec.ts";
export { readSample } from "./import-export/file-sample.ts";
export { fileEncodings, fileFormats, type ImportFormat, importFormats } from "./import-export/import-rows.ts";
export {
  type ImportCounts,
  type ImportProgress,
  type ImportRequest,
  ImportService,
  type ImportSummary,
  type RowFailure,
} from "./import-export/import.ts";
export { exportJobs, type JobExport } from "./import-export/export.ts";
export { exampleJob, exampleJobFields } from "./example-job.ts";
export { Job } from "./entity.ts";
export { jobFieldNames, type JobPatch } from "./fields.ts";
export { knownStatuses } from "./known-codes.ts";
export { jobSchema, markingNumberPath, noMarkingNumber } from "./schema.ts";
export { OperatorJobService } from "./operator.service.ts";
export { FailureReason, JobStatus } from "./reference-data.entity.ts";
export {
  createJobReferenceData,
  type FailureReasonCode,
  type JobReferenceData,
  type JobStatusCode,
} from "./reference-data.ts";
export type { JobRow } from "./row.sql.ts";
export { JobService, type JobServiceDeps, type RescheduleTarget, type UpdateItem } from "./service.ts";
export { dateValue, markingNumberValue, TEST_PREFIX, testMarkingNumberValue } from "./values.ts";
export { raiseVersionFloor } from "./version.sql.ts";
export { visibleTo } from "./visibility.sql.ts";
export { createTestJobs, deleteTestJobs, reassignTestJob } from "./test-jobs.ts";
export { type JobWire, toJobWire } from "./wire.ts";
export { findJob, findJobsById, findOrganizationsById } from "./list/find.sql.ts";
export { filterLimits, validateFilter } from "./list/filter-validation.ts";
export { jobCursor, type JobOrder, orderName, readJobCursor } from "./list/cursor.ts";
export { filterToSql, type JobFilterTree, lateSql } from "./list/filter.sql.ts";
export { type BulkOptions, type ItemResult, JOB_NOT_FOUND } from "./update/bulk.ts";
export { type ItemFailure, unknownStatus } from "./update/validate-patch.ts";
export { organizationNamesSql } from "./update/update-and-fan-out.sql.ts";
