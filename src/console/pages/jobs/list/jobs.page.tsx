/** The jobs table. Filters, sort order and page are in the URL, so that a view can be shared as a link. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMode, useSession } from "../../../app/session/session.ts";
import { LiveIndicator } from "../../../components/status/live-indicator.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { BulkEditDrawer } from "../bulk-edit/drawer.tsx";
import { ExportMenu } from "./export.menu.tsx";
import { FilterPills } from "../filters/filter.pills.tsx";
import { JobsTable } from "./jobs.table.tsx";
import { JobsToolbar } from "./jobs.toolbar.tsx";
import { updateSearch, clearFilters, savedViewQuery, type JobsSearch } from "../filters/jobs.search.ts";
import { ListedNumbers } from "./listed-numbers.tsx";
import { JobSelectionBar } from "./selection.bar.tsx";
import { useReferenceData, type ReferenceData } from "../use-reference-data.ts";
import { useJobsPage } from "./use-jobs-page.ts";
import { useSelection } from "../../../components/tables/use-selection.ts";
import { useEffect, useState } from "react";
import { notifyRemovedFilters } from "../../../app/link-repair.ts";

const route = getRouteApi("/console/jobs");

export function JobsPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/jobs" });
  const referenceData = useReferenceData();
  const { user, scopes } = useSession();
  const selection = useSelection(JSON.stringify([user.id, useMode(), savedViewQuery(search)]));
  const [action, setAction] = useState<"edit" | "reschedule" | null>(null);
  const canEdit = scopes.includes("jobs:write");

  const go = (next: JobsSearch): void => void navigate({ search: next });
  // Replaces the history entry, so that Back leaves the page instead of undoing each keystroke.
  const change = (difference: Partial<JobsSearch>): void =>
    void navigate({ search: (former) => updateSearch(former, difference), replace: true });
  const clear = (): void => go(clearFilters(search));
  const isReady = useStatusRepair(search, referenceData, change);
  const [isPaused, setPaused] = useState(false);
  // While the user edits, nothing moves behind the form.
  const table = useJobsPage(search, { isReady, isPaused: isPaused || action !== null });

  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <>
            <LiveIndicator error={table.error} isPaused={isPaused} onToggle={() => setPaused(!isPaused)} />
            <ExportMenu listVariables={table.listVariables} total={table.page?.totalCount} />
          </>
        }
      />
      <JobsToolbar search={search} referenceData={referenceData} onChange={change} onGo={go} />
      <FilterPills search={search} referenceData={referenceData} onChange={change} onClear={clear} />
      <ListedNumbers listed={table.page?.listedNumbers ?? null} />
      <JobsTable
        search={search}
        table={table}
        labels={referenceData.labels}
        selection={canEdit ? selection : null}
        onChange={change}
        onGo={go}
        onClear={clear}
      />
      <JobSelectionBar
        count={selection.selected.size}
        onEdit={() => setAction("edit")}
        onReschedule={() => setAction("reschedule")}
        onClear={selection.clear}
      />
      <BulkEditDrawer
        action={action}
        markingNumbers={[...selection.selected]}
        referenceData={referenceData}
        onClose={() => setAction(null)}
        onApplied={table.refetch}
        note="The jobs are still selected."
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
