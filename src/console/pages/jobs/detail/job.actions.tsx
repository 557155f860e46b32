/** The actions on a job, in its head. */
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCalendarEvent, IconPencil } from "@tabler/icons-react";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { BulkEditDrawer } from "../bulk-edit/drawer.tsx";
import type { ReferenceData } from "../use-reference-data.ts";
import { EditJobDrawer } from "./edit-job.drawer.tsx";

interface JobActionsProps {
  job: JobRowFragment;
  referenceData: ReferenceData;
  onReload: () => void;
}

export function JobActions({ job, referenceData, onReload }: JobActionsProps) {
  const [isEditing, editing] = useDisclosure(false);
  const [isRescheduling, rescheduling] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconCalendarEvent size={16} aria-hidden="true" />}
        onClick={rescheduling.open}
      >
        Reschedule
      </Button>
      <Button leftSection={<IconPencil size={16} aria-hidden="true" />} onClick={editing.open}>
        Edit
      </Button>
      <EditJobDrawer
        opened={isEditing}
        job={job}
        referenceData={referenceData}
        onClose={editing.close}
        onReload={onReload}
      />
      <BulkEditDrawer
        action={isRescheduling ? "reschedule" : null}
        jobs={{ kind: "selected", markingNumbers: [job.markingNumber] }}
        referenceData={referenceData}
        onClose={rescheduling.close}
        onApplied={onReload}
      />
    </>
  );
}
