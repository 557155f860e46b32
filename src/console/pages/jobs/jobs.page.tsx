/** The table of jobs: filtered, ordered and turned by its address, so that what one sees can be sent to somebody. */
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useSession } from "../../app/session.ts";
import { PageHeader } from "../../components/page-header.tsx";
import { EditManyDrawer } from "./edit-many.drawer.tsx";
import { ExportMenu } from "./export.menu.tsx";
import { FilterPills } from "./filter.pills.tsx";
import { JobsTable } from "./jobs.table.tsx";
import { JobsToolbar } from "./jobs.toolbar.tsx";
import { changed, withoutFilters, type JobsSearch } from "./jobs.search.ts";
import { SelectionBar } from "./selection.bar.tsx";
import { useChoices } from "./use-choices.ts";
import { useJobsPage } from "./use-jobs-page.ts";
import { useKnownStatuses } from "./use-known-statuses.ts";
import { useSelection } from "./use-selection.ts";

const route = getRouteApi("/console/jobs");

export function JobsPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/jobs" });
  const choices = useChoices();
  const selection = useSelection();
  const [isEditing, editing] = useDisclosure(false);
  const mayEdit = useSession().scopes.includes("jobs:write");

  const go = (next: JobsSearch): void => void navigate({ search: next });
  // Filters are narrowed step by step: the way back leads out of the page, not through every letter.
  const change = (difference: Partial<JobsSearch>): void =>
    void navigate({ search: (former) => changed(former, difference), replace: true });
  const clear = (): void => go(withoutFilters(search));
  const isReady = useKnownStatuses(search, choices, change);
  const table = useJobsPage(search, isReady);

  return (
    <>
      <PageHeader title="Jobs" actions={<ExportMenu asked={table.asked} total={table.page?.totalCount} />} />
      <JobsToolbar search={search} choices={choices} onChange={change} onGo={go} />
      <FilterPills search={search} choices={choices} onChange={change} onClear={clear} />
      <JobsTable
        search={search}
        table={table}
        names={choices.names}
        selection={mayEdit ? selection : null}
        onChange={change}
        onGo={go}
        onClear={clear}
      />
      <SelectionBar count={selection.chosen.size} onEdit={editing.open} onClear={selection.clear} />
      <EditManyDrawer
        opened={isEditing}
        markingNumbers={[...selection.chosen]}
        choices={choices}
        onClose={editing.close}
        onApplied={table.refetch}
      />
    </>
  );
}
