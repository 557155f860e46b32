/** Creates test jobs. */
import { formatCount } from "../../app/formats.ts";
import { useMutation } from "@apollo/client/react";
import { Button, Group, NumberInput, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { IconPlus } from "@tabler/icons-react";
import { notify } from "../../app/interaction/notify.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { useSession } from "../../app/session/session.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { Panel } from "../../components/layout/panel.tsx";
import { JobReferenceDataDocument } from "../../generated/jobs.ts";
import { CreateTestJobsDocument } from "../../generated/simulator.ts";

const MAX_COUNT = 100;

type Values = {
  /** Text while the input is empty. */
  count: number | string;
  recipientName: string;
  scheduledDate: string;
  contractor: "test" | "none";
};

const initialValues: Values = { count: 1, recipientName: "", scheduledDate: "", contractor: "test" };

/** With the first job, the test contractor becomes one of the organisations with jobs. */
const refetchNames = { refetchQueries: [JobReferenceDataDocument] };

interface CreateJobsPanelProps {
  /** Called with the Marking Number of the first new job. */
  onCreated: (markingNumber: string) => void;
}

export function CreateJobsPanel({ onCreated }: CreateJobsPanelProps) {
  const [create] = useMutation(CreateTestJobsDocument, refetchNames);
  const form = useForm<Values>({ initialValues, validate: { count: countError } });
  const submit = useSubmit(form, async ({ count, recipientName, scheduledDate, contractor }) => {
    const template = {
      ...(recipientName.trim() !== "" && { recipientName: recipientName.trim() }),
      ...(scheduledDate !== "" && { scheduledDate }),
    };
    const input = { count: Number(count), template, assigned: contractor === "test" };
    const { jobs } = payloadOrThrow((await create({ variables: { input } })).data?.createTestJobs);
    const [first] = jobs ?? [];
    if (first) onCreated(first.markingNumber);
    notify(`${formatCount(jobs?.length ?? 0, "test job")} created.`);
  });
  return (
    <Panel title="Create jobs">
      <form onSubmit={form.onSubmit(submit.onSubmit, submit.onInvalid)} noValidate>
        <Stack>
          <FormAlert failure={submit.failure} />
          <JobFields form={form} />
          <Group justify="flex-end">
            <Button
              type="submit"
              loading={submit.isBusy}
              leftSection={<IconPlus size={16} aria-hidden="true" />}
            >
              Create jobs
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function JobFields({ form }: { form: UseFormReturnType<Values> }) {
  const { organization } = useSession();
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NumberInput
        {...form.getInputProps("count")}
        label="Number of jobs"
        min={1}
        max={MAX_COUNT}
        clampBehavior="none"
        allowDecimal={false}
        allowNegative={false}
      />
      {/* A contractor sees only the jobs that are assigned to it. */}
      {organization?.type === "agent" && (
        <Select
          {...form.getInputProps("contractor")}
          label="Contractor"
          allowDeselect={false}
          data={[
            { value: "test", label: "Test contractor" },
            { value: "none", label: "None" },
          ]}
        />
      )}
      <TextInput
        {...form.getInputProps("recipientName")}
        label="Recipient"
        placeholder="Harbour Street Bakery"
        maxLength={255}
      />
      <TextInput {...form.getInputProps("scheduledDate")} type="date" label="Scheduled date" />
    </SimpleGrid>
  );
}

function countError(count: number | string): string | null {
  const isValid = Number.isInteger(count) && Number(count) >= 1 && Number(count) <= MAX_COUNT;
  return isValid ? null : `Enter a whole number from 1 to ${MAX_COUNT}.`;
}
