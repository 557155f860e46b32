/** The table of jobs, or its empty, loading or error state. */
import { formatCount } from "../../../app/formats.ts";
import { Button, Text } from "@mantine/core";
import { IconPackage, IconRefresh, IconSearchOff } from "@tabler/icons-react";
import { isInvalidInput } from "../../../app/api/describe-error.ts";
import { canVisit } from "../../../app/session/access.ts";
import { useMode, useSession } from "../../../app/session/session.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { DataTable, type ColumnSort } from "../../../components/tables/data-table.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { CursorPager } from "../../../components/tables/pager.tsx";
import { NoTestJobs } from "../../../components/status/no-test-jobs.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import type { ReferenceLabels } from "../job.labels.ts";
import { defaultColumns, jobColumns } from "./jobs.columns.tsx";
import { parseSort, toggleSort } from "../filters/jobs.variables.ts";
import {
  updateSearch,
  DEFAULT_SORT,
  hasJobFilters,
  SORT_LABELS,
  type JobsSearch,
  type SortField,
} from "../filters/jobs.search.ts";
import classes from "./jobs.module.css";
import type { JobsPageState } from "./use-jobs-page.ts";
import type { JobPanelState } from "./use-job-panel.ts";
import type { LiveList } from "./use-live-list.ts";
import { selectionColumn } from "../../../components/tables/selection.tsx";
import { useColumnWidths } from "../../../components/tables/use-column-widths.ts";
import type { Selection } from "../../../components/tables/use-selection.ts";

interface JobsTableProps {
  search: JobsSearch;
  table: JobsPageState;
  labels: ReferenceLabels;
  /** Null if the user may not edit jobs. */
  selection: Selection | null;
  onChange: (change: Partial<JobsSearch>) => void;
  onGo: (search: JobsSearch) => void;
  onClear: () => void;
  panel: JobPanelState;
}

export function JobsTable(props: JobsTableProps) {
  const { search, table, labels, selection, onChange, onGo, onClear, panel } = props;
  const organizationType = useSession().organization?.type ?? null;
  const widths = useColumnWidths("jobs");
  const { page, isStale, error } = table;
  const goToFirstPage = (): void => onGo(updateSearch(search, {}));
  if (error && isPastFirstPage(search) && isInvalidInput(error))
    return <NoSuchPage onFirst={goToFirstPage} />;
  if (error) return <ErrorState error={error} onRetry={table.refetch} />;
  if (!page) return <LoadingState rows={12} label="Loading jobs" />;
  if (page.nodes.length === 0)
    return (
      <>
        <News live={table.live} />
        <NoJobs search={search} total={page.totalCount} onFirst={goToFirstPage} onClear={onClear} />
      </>
    );

  const sort = search.sort ?? DEFAULT_SORT;
  const current = parseSort(sort);
  const sortOf = (field: SortField): ColumnSort => ({
    direction: current.field !== field ? null : current.isDescending ? "descending" : "ascending",
    onToggle: () => onChange({ sort: toggleSort(sort, field) }),
  });
  const shown = panel.visibleColumns(search.columns ?? defaultColumns(organizationType));
  const columns = jobColumns({ list: search, shown, labels, sortOf, onOpen: panel.open });
  return (
    <>
      <Text fz="sm" c="dimmed" mb={6}>
        {formatCount(page.totalCount, "job")} · {SORT_LABELS[sort]}
      </Text>
      <News live={table.live} />
      <DataTable
        caption="Jobs"
        columns={
          selection
            ? [
                selectionColumn({ selection, page: page.nodes, keyOf: ({ markingNumber }) => markingNumber }),
                ...columns,
              ]
            : columns
        }
        rows={page.nodes}
        rowKey={({ id }) => id}
        isSelected={({ markingNumber }) => selection?.has(markingNumber) ?? false}
        isCurrent={({ markingNumber }) => markingNumber === panel.job}
        isStale={isStale}
        phone="lines"
        widths={widths}
      />
      <CursorPager
        pageInfo={page.pageInfo}
        summary={`${formatCount(page.totalCount, "job")} in total, ${page.nodes.length} on this page`}
        onPageChange={(to) => onGo(updateSearch(search, to))}
      />
    </>
  );
}

function News({ live: { news, show } }: { live: LiveList }) {
  return (
    <div role="status" className={classes.news}>
      {news !== null && (
        <Button size="compact-sm" onClick={show} rightSection={<IconRefresh size={14} aria-hidden="true" />}>
          {news} · Show
        </Button>
      )}
    </div>
  );
}

function isPastFirstPage({ after, before }: JobsSearch): boolean {
  return after !== undefined || before !== undefined;
}

/** The cursor in the URL was cut off, or is of a list in another order. */
function NoSuchPage({ onFirst }: { onFirst: () => void }) {
  return (
    <EmptyState
      icon={IconSearchOff}
      title="This link has no valid page of the list"
      guide={guide.jobs}
      action={<Button onClick={onFirst}>Go to first page</Button>}
    >
      Part of the link may be missing. The first page has the same filters and order.
    </EmptyState>
  );
}

interface NoJobsProps {
  search: JobsSearch;
  total: number;
  onFirst: () => void;
  onClear: () => void;
}

function NoJobs({ search, total, onFirst, onClear }: NoJobsProps) {
  const session = useSession();
  const mode = useMode();
  if (total > 0)
    return (
      <EmptyState
        icon={IconSearchOff}
        title="This page is empty"
        guide={guide.jobs}
        action={<Button onClick={onFirst}>Go to first page</Button>}
      >
        The jobs on this page have moved to other pages.
      </EmptyState>
    );
  if (hasJobFilters(search))
    return (
      <EmptyState
        icon={IconSearchOff}
        title="No matching jobs"
        guide={guide.jobs}
        action={
          <Button variant="default" onClick={onClear}>
            Clear filters
          </Button>
        }
      >
        Remove a filter or shorten your search. Search matches all words, in the Marking Number, recipient,
        contact, delivery address and postal code.
      </EmptyState>
    );
  if (mode === "test") return <NoTestJobs />;
  if (canVisit(session, "import"))
    return (
      <EmptyState
        icon={IconPackage}
        title="No jobs yet"
        guide={guide.importing}
        action={<ButtonLink to="/import">Import jobs</ButtonLink>}
      >
        Import a file{session.organization === null && " or create jobs through the API"}.
      </EmptyState>
    );
  return (
    <EmptyState icon={IconPackage} title="No jobs yet">
      Jobs of your organisation will appear here.
    </EmptyState>
  );
}
