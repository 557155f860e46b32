/** A job next to the list: the content of its page. */
import { CloseButton, Group } from "@mantine/core";
import { IconArrowsMaximize } from "@tabler/icons-react";
import { lazy, Suspense, useRef } from "react";
import { InPanel } from "../../../app/interaction/page-heading.ts";
import { useReturnFocus } from "../../../app/interaction/return-focus.ts";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { LoadingCard } from "../../../components/status/page-states.tsx";
import type { JobsSearch } from "../filters/jobs.search.ts";
import classes from "./jobs.module.css";

const JobLoader = lazy(async () => ({ default: (await import("../detail/job.page.tsx")).JobLoader }));

interface JobPanelProps {
  markingNumber: string;
  /** The list next to it. */
  list: JobsSearch;
  onClose: () => void;
}

export function JobPanel({ markingNumber, list, onClose }: JobPanelProps) {
  const section = useRef<HTMLElement>(null);
  useReturnFocus(true, section);
  return (
    <section ref={section} aria-label={`Job ${markingNumber}`} className={classes.jobPanel}>
      <Group justify="space-between" className={classes.jobPanelBar}>
        <ButtonLink
          to="/jobs/$markingNumber"
          params={{ markingNumber }}
          state={{ jobList: list }}
          variant="default"
          size="xs"
          leftSection={<IconArrowsMaximize size={14} aria-hidden="true" />}
        >
          Open full page
        </ButtonLink>
        <CloseButton aria-label="Close job" onClick={onClose} />
      </Group>
      <InPanel value>
        <Suspense fallback={<LoadingCard height={420} />}>
          {/* The key resets all state when the job changes. */}
          <JobLoader key={markingNumber} markingNumber={markingNumber} />
        </Suspense>
      </InPanel>
    </section>
  );
}
