/** The active filters, each with a button that removes it. */
import { formatDay } from "../../../app/formats.ts";
import { Anchor, CloseButton } from "@mantine/core";
import { useEffect, useRef, type RefObject } from "react";
import { CATEGORY_LABELS } from "../job.category.ts";
import { useToday } from "../../../app/session/zone.ts";
import { daysOf } from "../job.due.ts";
import { DUE_LABELS, PERIOD_LABELS } from "./due.presets.tsx";
import { NO_CONTRACTOR, NO_CONTRACTOR_LABEL, type DuePreset, type JobsSearch } from "./jobs.search.ts";
import classes from "../list/jobs.module.css";
import type { FilterProps } from "./filter.panel.tsx";
import type { ReferenceData } from "../use-reference-data.ts";

interface Pill {
  name: string;
  value: string;
  /** The search parameters that removing it changes. */
  without: Partial<JobsSearch>;
}

export function FilterPills({
  search,
  referenceData,
  onChange,
  onClear,
}: FilterProps & { onClear: () => void }) {
  const pills = buildPills(search, referenceData, useToday());
  const { box, remember } = useFocusAfterRemoval(pills.length);
  const remove = (without: Partial<JobsSearch>): void => {
    remember();
    onChange(without);
  };
  return (
    <div ref={box} tabIndex={-1} className={classes.pillBox}>
      {pills.length > 0 && (
        <div className={classes.pills} role="group" aria-label="Active filters">
          {pills.map(({ name, value, without }) => (
            <span key={`${name} ${value}`} className={classes.pill}>
              <span className={classes.pillWords}>
                {name}: <strong>{value}</strong>
              </span>
              <CloseButton
                size="xs"
                aria-label={`Remove ${name}: ${value}`}
                onClick={() => remove(without)}
              />
            </span>
          ))}
          <Anchor component="button" type="button" fz="sm" onClick={onClear}>
            Clear all
          </Anchor>
        </div>
      )}
    </div>
  );
}

/** After a filter is removed, focuses the next filter's button, or the box if none is left. */
function useFocusAfterRemoval(count: number): {
  box: RefObject<HTMLDivElement | null>;
  remember: () => void;
} {
  const box = useRef<HTMLDivElement>(null);
  const countBefore = useRef(0);
  useEffect(() => {
    if (count >= countBefore.current) return;
    countBefore.current = 0;
    (box.current?.querySelector("button") ?? box.current)?.focus();
  }, [count]);
  const remember = (): void => {
    countBefore.current = count;
  };
  return { box, remember };
}

type ListName = "category" | "status" | "reason" | "agent" | "contractor";

function describePreset(preset: DuePreset, today: string): string {
  const days = daysOf(preset, today).map(formatDay);
  return `${DUE_LABELS[preset]} (${[...new Set(days)].join(" – ")})`;
}

function buildPills(search: JobsSearch, { labels }: ReferenceData, today: string): Pill[] {
  const list = (key: ListName, name: string, labelOf: (value: string) => string): Pill[] =>
    (search[key] ?? []).map((value) => ({
      name,
      value: labelOf(value),
      without: { [key]: search[key]?.filter((other) => other !== value) },
    }));
  const one = (key: keyof JobsSearch, name: string, value: string | undefined): Pill[] =>
    search[key] === undefined || value === undefined ? [] : [{ name, value, without: { [key]: undefined } }];
  const organization = (id: string): string => labels.organizations.get(id) ?? id;
  return [
    ...one("q", "Search", search.q),
    ...list("category", "Category", (value) => CATEGORY_LABELS[value as keyof typeof CATEGORY_LABELS]),
    ...list("status", "Status", (code) => labels.statuses.get(code) ?? code),
    ...list("reason", "Reason", (code) => labels.reasons.get(code) ?? code),
    ...list("agent", "Agent", organization),
    ...list("contractor", "Contractor", (id) =>
      id === NO_CONTRACTOR ? NO_CONTRACTOR_LABEL : organization(id),
    ),
    ...one("due", "Due", search.due && describePreset(search.due, today)),
    ...one("due_from", "Due from", search.due_from && formatDay(search.due_from)),
    ...one("due_to", "Due until", search.due_to && formatDay(search.due_to)),
    ...one("postal_code", "Postal code", search.postal_code),
    ...one("provider_status", "Provider status", search.provider_status),
    ...one("created_from", "Created from", search.created_from && formatDay(search.created_from)),
    ...one("created_to", "Created until", search.created_to && formatDay(search.created_to)),
    ...one("updated", "Updated in the", search.updated && PERIOD_LABELS[search.updated]),
    ...one("late", "Late", search.late && "only"),
  ];
}
