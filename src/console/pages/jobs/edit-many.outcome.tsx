/** The last step: what became of the jobs. */
import { Alert, Button, Stack } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { focusOnArrival } from "../../app/focus.ts";
import type { Outcome } from "./edit-many.plan.ts";
import { Refused } from "./edit-many.preview.tsx";
import { counted } from "./job.words.ts";
import classes from "./jobs.module.css";

export function ShowOutcome({
  outcome: { updated, unchanged, failed },
  onClose,
}: {
  outcome: Outcome;
  onClose: () => void;
}) {
  return (
    <Stack>
      <Alert
        role="status"
        color="spruce"
        icon={<IconCheck aria-hidden="true" />}
        title={`${counted(updated, "job")} changed`}
      >
        {unchanged > 0 && `${counted(unchanged, "job")} had these values already. `}
        Your selection stands, for what you may want to do next.
      </Alert>
      <Refused rows={failed} title={`${counted(failed.length, "job")} could not be changed`} />
      <div className={classes.actions}>
        <Button onClick={onClose} ref={focusOnArrival}>
          Done
        </Button>
      </div>
    </Stack>
  );
}
