/** The number of jobs per category. Each tile links to its jobs. */
import { Paper, SimpleGrid } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { toneOf } from "../../components/status/tone.ts";
import { ErrorState } from "../../components/status/page-states.tsx";
import { CATEGORY_LABELS } from "../jobs/job.category.ts";
import { formatNumber } from "../jobs/job.labels.ts";
import { categoryCounts } from "./dashboard.metrics.ts";
import classes from "./dashboard.module.css";
import type { Dashboard } from "./use-dashboard.ts";

export function CategoryTiles({ dashboard: { data, error, refetch } }: { dashboard: Dashboard }) {
  if (!data?.categories)
    return (
      <Paper>
        <ErrorState error={error} onRetry={refetch} />
      </Paper>
    );
  return (
    <SimpleGrid
      component="ul"
      aria-label="Jobs by category"
      cols={{ base: 2, xs: 3, lg: 6 }}
      spacing="sm"
      m={0}
      p={0}
    >
      {categoryCounts(data.categories.groups).map(({ category, count }) => (
        <li key={category} style={{ listStyle: "none" }}>
          <Link to="/jobs" search={{ category: [category] }} className={classes.tile}>
            <StatusBadge label={CATEGORY_LABELS[category]} tone={toneOf(category)} />
            <span className={classes.count}>{formatNumber(count)}</span>
          </Link>
        </li>
      ))}
    </SimpleGrid>
  );
}
