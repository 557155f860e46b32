/** The first step of rescheduling: choose the day on which the jobs are due. */
import { Button, Checkbox, Stack, Text, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { focusFirstError } from "../../../app/interaction/use-submit.ts";
import { useToday } from "../../../app/session/zone.ts";
import { CancelButton } from "../../../components/dialogs/dialog-actions.tsx";
import { addDays, DUE_RULE } from "../job.due.ts";
import classes from "../list/jobs.module.css";

interface RescheduleValues {
  dueDate: string;
  confirmed: boolean;
}

type RescheduleForm = UseFormReturnType<RescheduleValues>;

/** Suggests tomorrow. */
export function useRescheduleForm(): RescheduleForm {
  const today = useToday();
  return useForm<RescheduleValues>({
    initialValues: { dueDate: addDays(today, 1), confirmed: false },
    validate: { dueDate: (day) => (day === "" ? "Enter a date" : null) },
  });
}

interface RescheduleStepProps {
  form: RescheduleForm;
  onPreview: (values: RescheduleValues) => void;
}

export function RescheduleStep({ form, onPreview }: RescheduleStepProps) {
  return (
    <form noValidate onSubmit={form.onSubmit(onPreview, focusFirstError)}>
      <Stack>
        <Text c="dimmed" fz="sm">
          {DUE_RULE}
        </Text>
        <TextInput
          {...form.getInputProps("dueDate")}
          type="date"
          label="New date"
          max="9999-12-31"
          data-autofocus
        />
        <Checkbox
          {...form.getInputProps("confirmed", { type: "checkbox" })}
          label="This date is confirmed"
          description={
            form.values.confirmed
              ? "It becomes the confirmed date, and no confirmation is pending. The scheduled date does not change."
              : "It becomes the scheduled date. An earlier confirmed date is removed."
          }
        />
        <div className={classes.actions}>
          <CancelButton isBusy={false} />
          <Button type="submit">Preview</Button>
        </div>
      </Stack>
    </form>
  );
}
