/** The last step: the outcome of each job, and the undo. */
import { Button, Stack, Text } from "@mantine/core";
import { IconArrowBackUp, IconCheck } from "@tabler/icons-react";
import { formatCount } from "../../../app/formats.ts";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { Alert } from "../../../components/status/alert.tsx";
import { JobGroup, RefusedJobs } from "./job-groups.tsx";
import type { BulkReport } from "./plan.ts";
import classes from "../list/jobs.module.css";

interface ReportStepProps {
  report: BulkReport;
  note: string;
  /** Null for the report of an undo. */
  onUndo: (() => void) | null;
  onClose: () => void;
}

export function ReportStep({ report, note, onUndo, onClose }: ReportStepProps) {
  const { changed, unchanged, refused, uncertain, notTried } = report;
  const verb = onUndo ? "changed" : "restored";
  return (
    <Stack>
      <Alert
        role="status"
        guide={null}
        color={notTried.length + uncertain.length > 0 ? "amber" : "spruce"}
        icon={<IconCheck aria-hidden="true" />}
        title={`${formatCount(changed.length, "job")} ${verb}`}
      >
        {unchanged.length > 0 && `${formatCount(unchanged.length, "job")} already matched. `}
        {notTried.length > 0 &&
          `${formatCount(notTried.length, "job was", "jobs were")} not tried and did not change. `}
        {note}
      </Alert>
      <RefusedJobs refused={refused} title={`couldn’t be ${verb}`} />
      {uncertain.length > 0 && (
        <Alert
          color="amber"
          title={`${formatCount(uncertain.length, "job")} may have been ${verb}`}
          guide={null}
        >
          The last request had no response before you stopped.
          {onUndo && " Undo does not change these jobs."}
        </Alert>
      )}
      <div>
        <JobGroup title={onUndo ? "Changed" : "Restored"} markingNumbers={changed} />
        <JobGroup title="Already matched" markingNumbers={unchanged} />
        <JobGroup title="Without a response" markingNumbers={uncertain} />
        <JobGroup title="Not tried" markingNumbers={notTried} />
      </div>
      <Text fz="sm" c="dimmed">
        Links open in a new tab.
        {onUndo &&
          changed.length > 0 &&
          " Undo restores the former values of jobs that nothing else has changed since."}
      </Text>
      <div className={classes.actions}>
        {onUndo && changed.length > 0 && (
          <Button
            variant="default"
            leftSection={<IconArrowBackUp size={16} aria-hidden="true" />}
            onClick={onUndo}
          >
            Undo
          </Button>
        )}
        <Button onClick={onClose} ref={focusOnMount}>
          Done
        </Button>
      </div>
    </Stack>
  );
}
