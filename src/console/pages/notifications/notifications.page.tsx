/** Users choose their notifications by e-mail and by webhook. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Button, Checkbox, Fieldset, Group, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { notify } from "../../app/interaction/notify.tsx";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { useZone } from "../../app/session/zone.ts";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { Section } from "../../components/layout/section.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import {
  type NotificationKind,
  NotificationsPageDocument,
  SetNotificationsDocument,
} from "../../generated/notifications.ts";
import { type NotificationsProps, WebhookSection } from "./webhook.section.tsx";

const kinds: Readonly<Record<NotificationKind, { label: string; description: string }>> = {
  ENDPOINT_FAILING: {
    label: "Endpoint failing",
    description: "When four attempts in a row failed, and when an endpoint was disabled.",
  },
  KEY_EXPIRING: { label: "API key expiring", description: "7 days before a live key expires." },
  LATE_JOBS: { label: "Late jobs", description: "Each morning at 08:00, if a job is late." },
  WEEKLY_DIGEST: { label: "Weekly digest", description: "The last week’s numbers, on Mondays at 08:00." },
};

export function NotificationsPage() {
  const { data, error, refetch } = useQuery(NotificationsPageDocument);
  const reload = (): Promise<unknown> => refetch();
  const notifications = data?.notifications;
  return (
    <>
      <PageHeader title="Notifications" description="Choose your notifications, by e-mail and by webhook." />
      {notifications ? (
        <>
          <ChoicesSection notifications={notifications} onChange={reload} />
          <WebhookSection notifications={notifications} onChange={reload} />
        </>
      ) : error ? (
        <ErrorState error={error} onRetry={() => void reload()} />
      ) : (
        <LoadingState />
      )}
    </>
  );
}

function ChoicesSection({ notifications, onChange }: NotificationsProps) {
  const zone = useZone();
  const { webhookHost } = notifications;
  const [save] = useMutation(SetNotificationsDocument);
  const choices = notifications.choices.map(({ kind, mail, webhook }) => ({ kind, mail, webhook }));
  const form = useForm({ initialValues: { choices } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (variables) => {
    payloadOrThrow((await save({ variables })).data?.setNotifications);
    await onChange();
    notify("Notifications saved.");
  });
  const box = (index: number, channel: "mail" | "webhook") =>
    form.getInputProps(`choices.${index}.${channel}`, { type: "checkbox" });
  return (
    <Section
      title="What you get"
      description={`Times are in ${zone}. Nothing is sent about test data. Changes of keys are always mailed to owners.`}
    >
      <form onSubmit={form.onSubmit(submit.onSubmit)}>
        <Stack maw={520}>
          <FormAlert failure={submit.failure} />
          {choices.map(({ kind }, index) => (
            <Fieldset key={kind} legend={kinds[kind].label} styles={{ legend: { fontWeight: 600 } }}>
              <Text fz="sm" c="dimmed" mb="xs">
                {kinds[kind].description}
              </Text>
              <Group>
                <Checkbox label="E-mail" {...box(index, "mail")} />
                <Checkbox label="Webhook" disabled={webhookHost === null} {...box(index, "webhook")} />
              </Group>
            </Fieldset>
          ))}
          {webhookHost === null && (
            <Text fz="sm" c="dimmed">
              Save the URL of a webhook below to choose it here.
            </Text>
          )}
          <Group>
            <Button type="submit" variant="default" loading={submit.isBusy}>
              Save choices
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
