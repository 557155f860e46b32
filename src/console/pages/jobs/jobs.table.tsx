/** The jobs themselves, or what stands in their place. */
import { Button } from "@mantine/core";
import { IconPackage, IconSearchOff } from "@tabler/icons-react";
import { useSession } from "../../app/session.ts";
import { DataTable, type ColumnSort } from "../../components/data-table.tsx";
import { ButtonLink } from "../../components/links.tsx";
import { CursorPager } from "../../components/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../components/states.tsx";
import { counted, type Names } from "./job.words.ts";
import { defaultColumns, jobColumns, selectionColumn } from "./jobs.columns.tsx";
import { readSort, toggledSort } from "./jobs.filter.ts";
import { changed, DEFAULT_SORT, isFiltered, type JobsSearch, type SortField } from "./jobs.search.ts";
import type { JobsPageState } from "./use-jobs-page.ts";
import type { Selection } from "./use-selection.ts";

interface JobsTableProps {
  search: JobsSearch;
  table: JobsPageState;
  names: Names;
  /** Null: nothing can be done with many. */
  selection: Selection | null;
  onChange: (change: Partial<JobsSearch>) => void;
  onGo: (search: JobsSearch) => void;
  onClear: () => void;
}

export function JobsTable({ search, table, names, selection, onChange, onGo, onClear }: JobsTableProps) {
  const kind = useSession().organization?.type ?? null;
  const { page, isStale, error } = table;
  const first = (): void => onGo(changed(search, {}));
  if (error) return <ErrorState error={error} onRetry={isInside(search) ? first : table.refetch} />;
  if (!page) return <LoadingState rows={12} label="Loading jobs" />;
  if (page.nodes.length === 0)
    return <NoJobs search={search} total={page.totalCount} onFirst={first} onClear={onClear} />;

  const sort = search.sort ?? DEFAULT_SORT;
  const current = readSort(sort);
  const sortOf = (field: SortField): ColumnSort => ({
    direction: current.field !== field ? null : current.isDescending ? "descending" : "ascending",
    onToggle: () => onChange({ sort: toggledSort(sort, field) }),
  });
  const columns = jobColumns({ shown: search.columns ?? defaultColumns(kind), names, sortOf });
  return (
    <>
      <DataTable
        caption="Jobs"
        columns={selection ? [selectionColumn(selection, page.nodes), ...columns] : columns}
        rows={page.nodes}
        rowKey={({ id }) => id}
        isSelected={({ markingNumber }) => selection?.chosen.has(markingNumber) ?? false}
        isStale={isStale}
      />
      <CursorPager
        pageInfo={page.pageInfo}
        summary={`${counted(page.totalCount, "job")} in all, ${page.nodes.length} on this page`}
        onMove={(to) => onGo(changed(search, to))}
      />
    </>
  );
}

function isInside({ after, before }: JobsSearch): boolean {
  return after !== undefined || before !== undefined;
}

interface NoJobsProps {
  search: JobsSearch;
  total: number;
  onFirst: () => void;
  onClear: () => void;
}

function NoJobs({ search, total, onFirst, onClear }: NoJobsProps) {
  const isOperator = useSession().organization === null;
  if (total > 0)
    return (
      <EmptyState
        icon={IconSearchOff}
        title="This page is empty"
        action={<Button onClick={onFirst}>To the first page</Button>}
      >
        Jobs have moved to other pages since.
      </EmptyState>
    );
  if (isFiltered(search))
    return (
      <EmptyState
        icon={IconSearchOff}
        title="No job matches"
        action={
          <Button variant="default" onClick={onClear}>
            Clear all filters
          </Button>
        }
      >
        Take a filter away, or look for less of a word: a search finds the beginning of a Marking Number or a
        postal code, and any part of a recipient or an address.
      </EmptyState>
    );
  if (isOperator)
    return (
      <EmptyState
        icon={IconPackage}
        title="No jobs yet"
        action={<ButtonLink to="/operator/import">Import jobs</ButtonLink>}
      >
        Import a file, or create jobs by the API.
      </EmptyState>
    );
  return (
    <EmptyState icon={IconPackage} title="No jobs yet">
      Jobs stand here as soon as the service has one for your organisation.
    </EmptyState>
  );
}
