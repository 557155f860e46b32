/** The days on which jobs are due, and late jobs, at one click. */
import { FilterButton, FilterButtons } from "../../../components/tables/filter-tabs.tsx";
import { DUE_PRESETS, type DuePreset, type JobsSearch, type Period } from "./jobs.search.ts";

export const DUE_LABELS: Record<DuePreset, string> = {
  yesterday: "Yesterday",
  today: "Today",
  tomorrow: "Tomorrow",
  week: "This week",
};

export const PERIOD_LABELS: Record<Period, string> = {
  "1h": "last hour",
  "24h": "last 24 hours",
  "7d": "last 7 days",
  "30d": "last 30 days",
};

interface DuePresetsProps {
  search: JobsSearch;
  onChange: (change: Partial<JobsSearch>) => void;
}

/** One of them at a time; a second click removes it. */
export function DuePresets({ search, onChange }: DuePresetsProps) {
  const toggle = (change: Partial<JobsSearch>, isActive: boolean): void =>
    onChange({
      due: undefined,
      late: undefined,
      due_from: undefined,
      due_to: undefined,
      ...(isActive ? {} : change),
    });
  const isLate = search.late === true;
  return (
    <FilterButtons label="Due">
      {DUE_PRESETS.map((due) => (
        <FilterButton
          key={due}
          isActive={search.due === due}
          onClick={() => toggle({ due }, search.due === due)}
        >
          {DUE_LABELS[due]}
        </FilterButton>
      ))}
      <FilterButton isActive={isLate} onClick={() => toggle({ late: true }, isLate)}>
        Late
      </FilterButton>
    </FilterButtons>
  );
}
