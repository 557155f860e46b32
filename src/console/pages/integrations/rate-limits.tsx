/** How often requests may come. */
import { useQuery } from "@apollo/client/react";
import { Code, Stack, Text } from "@mantine/core";
import { FactList } from "../../components/fact-list.tsx";
import { RateLimitsDocument, type RateLimitClass } from "../../generated/rate-limits.ts";
import { Panel } from "./panel.tsx";

const CLASSES: Record<RateLimitClass, string> = {
  READ: "Reading",
  WRITE: "Changing one job",
  BATCH: "Changing many jobs",
};

export function RateLimits() {
  const { data } = useQuery(RateLimitsDocument);
  if (!data) return null;
  const limits = data.viewer.rateLimits;
  return (
    <Panel title="Rate limits">
      {limits.length === 0 ? (
        <Text fz="sm">There are none: requests may come as often as they like.</Text>
      ) : (
        <Stack gap="sm">
          <FactList
            facts={limits.map(({ class: kind, perSecond, burst }) => ({
              label: CLASSES[kind],
              value: `${perSecond.toLocaleString()} a second, ${burst.toLocaleString()} at once`,
            }))}
          />
          <Text c="dimmed" fz="sm">
            Each key has them for itself, unless it was given others. Each answer of REST says in{" "}
            <Code>RateLimit</Code> how much is left; beyond that, 429 with <Code>Retry-After</Code>.
          </Text>
        </Stack>
      )}
    </Panel>
  );
}
