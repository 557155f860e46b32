/** Saved views, search, filters and columns above the table. */
import { Button, Collapse } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAdjustmentsHorizontal, IconSearch } from "@tabler/icons-react";
import { canVisit } from "../../../app/session/access.ts";
import { useSession } from "../../../app/session/session.ts";
import { later, menuLater } from "../../../app/later.tsx";
import { ColumnsButton } from "./jobs.buttons.tsx";
import { DuePresets } from "../filters/due.presets.tsx";
import type { FilterProps } from "../filters/filter.panel.tsx";
import { defaultColumns } from "./jobs.columns.tsx";
import classes from "./jobs.module.css";
import type { JobsSearch } from "../filters/jobs.search.ts";
import { SEARCH_KEY } from "../../../app/interaction/keys.ts";
import { SearchField } from "../../../components/forms/search-field.tsx";

const SavedViewsTabs = later(async () => (await import("../filters/saved-views.tabs.tsx")).SavedViewsTabs);
const FilterPanel = later(async () => (await import("../filters/filter.panel.tsx")).FilterPanel);
const ColumnMenu = menuLater(async () => (await import("./column.menu.tsx")).ColumnMenu, ColumnsButton);

export function JobsToolbar({
  search,
  referenceData,
  onChange,
  onGo,
}: FilterProps & { onGo: (search: JobsSearch) => void }) {
  const [isOpen, panel] = useDisclosure(false);
  const session = useSession();
  return (
    <>
      {canVisit(session, "views") && (
        <div className={classes.views}>
          <SavedViewsTabs search={search} onGo={onGo} />
        </div>
      )}
      <div className={classes.toolbar} role="search" aria-label="Jobs">
        <SearchField
          aria-keyshortcuts={SEARCH_KEY}
          className={classes.search}
          type="search"
          aria-label="Search jobs"
          placeholder="Marking Numbers, name, phone, address"
          leftSection={<IconSearch size={16} aria-hidden="true" />}
          value={search.q ?? ""}
          onDebouncedChange={(text) => onChange({ q: text === "" ? undefined : text })}
        />
        <Button
          variant={isOpen ? "light" : "default"}
          leftSection={<IconAdjustmentsHorizontal size={16} aria-hidden="true" />}
          aria-expanded={isOpen}
          aria-controls="job-filters"
          onClick={panel.toggle}
        >
          Filters
        </Button>
        <ColumnMenu
          shown={search.columns ?? defaultColumns(session.organization?.type ?? null)}
          isDefault={search.columns === undefined}
          onChange={(columns) => onChange({ columns })}
        />
      </div>
      <DuePresets search={search} onChange={onChange} />
      <Collapse expanded={isOpen}>
        <FilterPanel search={search} referenceData={referenceData} onChange={onChange} />
      </Collapse>
    </>
  );
}
