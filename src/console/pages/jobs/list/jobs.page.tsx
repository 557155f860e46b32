/** The jobs table. Filters, sort order and page are in the URL, so that a view can be shared as a link. */
import { getRouteApi, Navigate, useNavigate } from "@tanstack/react-router";
import { useMode, useSession } from "../../../app/session/session.ts";
import { LiveIndicator } from "../../../components/status/live-indicator.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { later, menuLater } from "../../../app/later.tsx";
import { ExportButton } from "./jobs.buttons.tsx";
import { FilterPills } from "../filters/filter.pills.tsx";
import { JobsTable } from "./jobs.table.tsx";
import { JobsToolbar } from "./jobs.toolbar.tsx";
import {
  updateSearch,
  clearFilters,
  hasJobFilters,
  parseJobsSearch,
  savedViewQuery,
  type JobsSearch,
} from "../filters/jobs.search.ts";
import { ListedNumbers } from "./listed-numbers.tsx";
import { useReferenceData, type ReferenceData } from "../use-reference-data.ts";
import { useJobPanel, type JobPanelState } from "./use-job-panel.ts";
import classes from "./jobs.module.css";
import { parseSearch, stringifySearch } from "../../../app/search-params.ts";
import { useJobsPage, type JobsPageState } from "./use-jobs-page.ts";
import { useSelection, type Selection } from "../../../components/tables/use-selection.ts";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { notifyRemovedFilters } from "../../../app/link-repair.ts";

const route = getRouteApi("/console/jobs");

const JobPanel = later(async () => (await import("./job.panel.tsx")).JobPanel);
const JobSelectionBar = later(async () => (await import("./selection.bar.tsx")).JobSelectionBar);
const BulkEditDrawer = later(async () => (await import("../bulk-edit/drawer.tsx")).BulkEditDrawer);
const ExportMenu = menuLater(async () => (await import("./export.menu.tsx")).ExportMenu, ExportButton);

export function JobsPage() {
  const { job, ...search } = route.useSearch();
  // Opening a job is no reason to read the list again.
  const query = stringifySearch({ ...search });
  const listSearch = useMemo(() => parseJobsSearch(parseSearch(query)), [query]);
  const panel = useJobPanel(job, query);
  // Without room, a link to a job next to the list opens the page of the job.
  if (job !== undefined && !panel.open)
    return (
      <Navigate
        to="/jobs/$markingNumber"
        params={{ markingNumber: job }}
        state={{ jobList: listSearch }}
        replace
      />
    );
  return (
    <div className={classes.split} data-open={job !== undefined || undefined} data-full-width>
      <div>
        <JobsList search={listSearch} panel={panel} />
      </div>
      {job !== undefined && <JobPanel markingNumber={job} list={listSearch} onClose={panel.close} />}
    </div>
  );
}

function JobsList({ search, panel }: { search: JobsSearch; panel: JobPanelState }) {
  const navigate = useNavigate({ from: "/jobs" });
  const referenceData = useReferenceData();
  const { user, scopes } = useSession();
  const selection = useSelection(JSON.stringify([user.id, useMode(), savedViewQuery(search)]));
  const canEdit = scopes.includes("jobs:write");

  const go = (next: JobsSearch): void =>
    void navigate({ search: { ...next, ...(panel.job !== null && { job: panel.job }) } });
  // Replaces the history entry, so that Back leaves the page instead of undoing each keystroke.
  const change = (difference: Partial<JobsSearch>): void =>
    void navigate({ search: (former) => updateSearch(former, difference), replace: true });
  const clear = (): void => go(clearFilters(search));
  const isReady = useStatusRepair(search, referenceData, change);
  const [isPaused, setPaused] = useState(false);
  const [isEditing, setEditing] = useState(false);
  // While the user edits, nothing moves behind the form.
  const table = useJobsPage(search, { isReady, isPaused: isPaused || isEditing });

  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <>
            <LiveIndicator error={table.error} isPaused={isPaused} onToggle={() => setPaused(!isPaused)} />
            <ExportMenu search={search} table={table} labels={referenceData.labels} />
          </>
        }
      />
      <JobsToolbar search={search} referenceData={referenceData} onChange={change} onGo={go} />
      <FilterPills search={search} referenceData={referenceData} onChange={change} onClear={clear} />
      <ListedNumbers listed={table.page?.listedNumbers ?? null} />
      <SelectedJobs
        search={search}
        table={table}
        selection={selection}
        referenceData={referenceData}
        onEditing={setEditing}
      >
        <JobsTable
          search={search}
          table={table}
          labels={referenceData.labels}
          selection={canEdit ? selection : null}
          onChange={change}
          onGo={go}
          onClear={clear}
          panel={panel}
        />
      </SelectedJobs>
    </>
  );
}

interface SelectedJobsProps {
  search: JobsSearch;
  table: JobsPageState;
  selection: Selection;
  referenceData: ReferenceData;
  onEditing: (isEditing: boolean) => void;
  /** The table. */
  children: ReactNode;
}

/** The last change above the table, and the actions on the selected jobs below it. */
function SelectedJobs(props: SelectedJobsProps) {
  const { search, table, selection, referenceData, onEditing, children } = props;
  const [action, setAction] = useState<"edit" | "reschedule" | null>(null);
  const act = (next: typeof action): void => {
    setAction(next);
    onEditing(next !== null);
  };
  return (
    <>
      <BulkEditDrawer
        action={action}
        jobs={
          selection.isAll
            ? { kind: "matching", filter: table.listVariables.filter, total: table.page?.totalCount ?? 0 }
            : { kind: "selected", markingNumbers: [...selection.selected] }
        }
        referenceData={referenceData}
        onClose={() => act(null)}
        onApplied={table.refetch}
        note={selection.isAll ? "" : "The jobs are still selected."}
        hasLastChange
      />
      {children}
      <JobSelectionBar
        selection={selection}
        page={table.page}
        hasFilters={hasJobFilters(search)}
        onEdit={() => act("edit")}
        onReschedule={() => act("reschedule")}
      />
    </>
  );
}

/** Returns false while the search must not be sent, because the API rejects unknown statuses. */
function useStatusRepair(
  search: JobsSearch,
  referenceData: ReferenceData,
  onRepair: (difference: Partial<JobsSearch>) => void,
): boolean {
  const requested = search.status ?? [];
  const isKnown = (code: string): boolean => referenceData.labels.statuses.has(code);
  // If the reference data failed to load, the API validates the statuses.
  const unknown = referenceData.statuses.length === 0 ? [] : requested.filter((code) => !isKnown(code));
  useEffect(() => {
    if (unknown.length === 0) return;
    notifyRemovedFilters(unknown.map((value) => ({ name: "status", value })));
    onRepair({ status: requested.filter(isKnown) });
  });
  return requested.length === 0 || (!referenceData.isLoading && unknown.length === 0);
}
