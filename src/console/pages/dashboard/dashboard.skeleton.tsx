/** Placeholder with the dashboard's layout while it loads. */
import { Grid, SimpleGrid, Skeleton, VisuallyHidden } from "@mantine/core";
import classes from "./dashboard.module.css";

export function DashboardSkeleton() {
  return (
    <div role="status" aria-busy="true">
      <VisuallyHidden>Loading the dashboard…</VisuallyHidden>
      <SimpleGrid cols={{ base: 2, xs: 3, lg: 6 }} spacing="sm" aria-hidden="true">
        {Array.from({ length: 6 }, (_, index) => (
          <Skeleton key={index} height={88} radius="lg" />
        ))}
      </SimpleGrid>
      <Grid gap="lg" mt="lg" aria-hidden="true">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Skeleton height={390} radius="lg" />
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <Skeleton height={390} radius="lg" />
        </Grid.Col>
      </Grid>
      <div className={classes.trio} aria-hidden="true">
        {Array.from({ length: 3 }, (_, index) => (
          <Skeleton key={index} height={360} radius="lg" />
        ))}
      </div>
    </div>
  );
}
