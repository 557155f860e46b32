/** An owner sets the time zone in which the organisation's days begin and end. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Select, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { notify } from "../../app/interaction/notify.tsx";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { useSessionStore } from "../../app/session/session.ts";
import { useZone } from "../../app/session/zone.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { Section } from "../../components/layout/section.tsx";
import { SetTimeZoneDocument } from "../../generated/time-zone.ts";

const MOST_SHOWN = 100;

export function TimeZoneSection() {
  const zone = useZone();
  const session = useSessionStore();
  const [save] = useMutation(SetTimeZoneDocument);
  const form = useForm({ initialValues: { timeZone: zone } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async ({ timeZone }) => {
    payloadOrThrow((await save({ variables: { timeZone } })).data?.setTimeZone);
    form.resetDirty();
    await session.load();
    notify("Time zone saved.");
  });
  return (
    <Section
      title="Time zone"
      description="Your days begin and end in it: which jobs are late, what is due today, and the times that the console shows."
    >
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack maw={520}>
          <FormAlert failure={submit.failure} />
          <Select
            {...form.getInputProps("timeZone")}
            label="Time zone"
            description="Test data follows it. Dates in REST stay in UTC."
            data={zonesWith(zone)}
            limit={MOST_SHOWN}
            searchable
            allowDeselect={false}
            nothingFoundMessage="No such time zone"
          />
          <Group>
            <Button type="submit" variant="default" loading={submit.isBusy}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

/** The browser may know the stored time zone by another name. */
function zonesWith(zone: string): string[] {
  return [...new Set(["UTC", zone, ...Intl.supportedValuesOf("timeZone")])];
}
