/** The public API of the jobs feature. Other modules import only from here. */
export { JobCounter, JobCounterDelta } from "./counters/counter.entity.ts";
export { compactCounters, rebuildCounters } from "./counters/counters.ts";
export { type GroupKey, jobStats, MAX_GROUPS } from "./counters/stats.ts";
export { exportJobs } from "./import-export/export.ts";
export { type ColumnMapping, fileColumns, isFileColumn } from "./import-export/file-codec.ts";
export { type FileFormat, fileFormats } from "./import-export/import-rows.ts";
export {
  createImportService,
  type ImportProgress,
  type ImportRequest,
  type ImportService,
  type ImportSummary,
} from "./import-export/import.service.ts";
export type { ImportCounts, RowFailure } from "./import-export/import.ts";
export { exportJobList, type ListExport } from "./import-export/list-export.ts";
export { Job } from "./job.entity.ts";
export { type JobFieldName, jobFieldNames, jobFields, type JobPatch, jobPatchShape } from "./job.fields.ts";
export { createOperatorJobService, type OperatorJobService } from "./job.operator.service.ts";
export { FailureReason, JobStatus } from "./job.reference-data.entity.ts";
export {
  createJobReferenceData,
  type FailureReasonCode,
  type JobReferenceData,
  type JobStatusCode,
} from "./job.reference-data.ts";
export type { JobRow, JobWithOrganizations } from "./job.row.ts";
export { type BatchItem, createJobService, type JobService, type UpdateOptions } from "./job.service.ts";
export { dateValue, markingNumberValue, textValue } from "./job.values.ts";
export { raiseVersionFloor } from "./job.version.ts";
export { isVisibleTo, visibleTo, visibleToAny } from "./job.visibility.ts";
export { type JobWire, type ListedJobWire, toJobWire, toListedJobWire } from "./job.wire.ts";
export { defaultFilterLimits, validateFilter } from "./list/filter-validation.ts";
export { filterToSql, type JobFilterTree, type JobStatusCategory } from "./list/filter.ts";
export { findJobsById, findJobsByMarkingNumber, findOrganizationsById } from "./list/find-many.ts";
export { type JobPosition, type JobSort, jobSortFields, newestFirst } from "./list/list-parameters.ts";
export { listJobs } from "./list/list.sql.ts";
export type { OffsetListQuery } from "./list/offset-list.sql.ts";
export { jobCursor, type JobOrder, readJobCursor } from "./list/order.ts";
export type { BulkOptions, ItemFailure, ItemResult } from "./update/bulk.ts";
