/** The last step: the result. */
import { Button, Stack } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import type { BulkEditResult } from "./plan.ts";
import { RejectedRows } from "./preview.step.tsx";
import { formatCount } from "../job.labels.ts";
import classes from "../list/jobs.module.css";
import { Alert } from "../../../components/status/alert.tsx";

export function BulkEditResultStep({
  outcome: { updated, unchanged, failed },
  onClose,
}: {
  outcome: BulkEditResult;
  onClose: () => void;
}) {
  return (
    <Stack>
      <Alert
        role="status"
        guide={null}
        color="spruce"
        icon={<IconCheck aria-hidden="true" />}
        title={`${formatCount(updated, "job")} changed`}
      >
        {unchanged > 0 && `${formatCount(unchanged, "job")} already matched. `}
        The jobs are still selected.
      </Alert>
      <RejectedRows rows={failed} title={`${formatCount(failed.length, "job")} couldn’t be changed`} />
      <div className={classes.actions}>
        <Button onClick={onClose} ref={focusOnMount}>
          Done
        </Button>
      </div>
    </Stack>
  );
}
