/** Prints a job. Loads the sheet and its barcodes at the first click. */
import { Button } from "@mantine/core";
import { IconPrinter } from "@tabler/icons-react";
import { useState } from "react";
import { notifyError } from "../../../../app/interaction/notify.tsx";
import type { JobRowFragment } from "../../../../generated/job-row.ts";
import type { PrintSheet } from "./print.sheet.tsx";

export function PrintButton({ job }: { job: JobRowFragment }) {
  const [state, setState] = useState<{ Sheet: typeof PrintSheet | null; count: number }>({
    Sheet: null,
    count: 0,
  });
  const print = async (): Promise<void> => {
    try {
      const { PrintSheet: Sheet } = await import("./print.sheet.tsx");
      setState(({ count }) => ({ Sheet, count: count + 1 }));
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconPrinter size={16} aria-hidden="true" />}
        onClick={() => void print()}
      >
        Print
      </Button>
      {state.Sheet && <state.Sheet key={state.count} job={job} />}
    </>
  );
}
