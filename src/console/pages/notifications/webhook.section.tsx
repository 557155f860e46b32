/** The webhook of a user's notifications: its URL, a test, and the last failure. */
import { useMutation } from "@apollo/client/react";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { guide } from "../../app/guide/guide-pages.ts";
import { notify } from "../../app/interaction/notify.tsx";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { Section } from "../../components/layout/section.tsx";
import { Alert } from "../../components/status/alert.tsx";
import {
  type NotificationPartsFragment,
  SendTestNotificationDocument,
  SetNotificationWebhookDocument,
} from "../../generated/notifications.ts";

export interface NotificationsProps {
  notifications: NotificationPartsFragment;
  /** Reads the notifications again. */
  onChange: () => Promise<unknown>;
}

export function WebhookSection({ notifications, onChange }: NotificationsProps) {
  const [save] = useMutation(SetNotificationWebhookDocument);
  const { webhookHost: host } = notifications;
  const form = useForm({ initialValues: { url: "" } });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const set = async (url: string | null): Promise<void> => {
    payloadOrThrow((await save({ variables: { url } })).data?.setNotificationWebhook);
    await onChange();
    form.reset();
    notify(url === null ? "Webhook removed." : "Webhook saved.");
  };
  const submit = useSubmit(form, ({ url }) => set(url));
  const removal = useSubmit(useForm({ initialValues: {} }), () => set(null));
  return (
    <Section
      title="Webhook"
      description="Posts your notifications to a channel of Slack, or of another service that takes the same form, such as Mattermost."
    >
      <Stack maw={520}>
        {host !== null && <SavedWebhook notifications={notifications} onChange={onChange} />}
        <form onSubmit={form.onSubmit(submit.onSubmit)}>
          <Stack>
            <FormAlert failure={submit.failure ?? removal.failure} />
            <TextInput
              {...form.getInputProps("url")}
              type="url"
              label={host === null ? "URL of the incoming webhook" : "New URL of the incoming webhook"}
              description="With https. We store it encrypted, and don’t show it again."
              autoComplete="off"
              required
              withAsterisk={false}
            />
            <Group>
              <Button type="submit" variant="default" loading={submit.isBusy}>
                Save webhook
              </Button>
              {host !== null && (
                <Button
                  variant="default"
                  color="red"
                  loading={removal.isBusy}
                  onClick={() => removal.onSubmit({})}
                >
                  Remove webhook
                </Button>
              )}
            </Group>
          </Stack>
        </form>
      </Stack>
    </Section>
  );
}

function SavedWebhook({ notifications, onChange }: NotificationsProps) {
  const [send] = useMutation(SendTestNotificationDocument);
  const [answer, setAnswer] = useState<string | null>(null);
  const submit = useSubmit(useForm({ initialValues: {} }), async () => {
    setAnswer(null);
    const result = payloadOrThrow((await send()).data?.sendTestNotification);
    if (result.delivered) setAnswer(result.answer);
    await onChange();
  });
  const { webhookHost, webhookFailure, webhookFailedAt } = notifications;
  return (
    <>
      <Text>Messages go to {webhookHost}.</Text>
      {webhookFailure !== null && webhookFailedAt !== null && (
        <Alert color="red" title="The last message failed" guide={guide.notifications}>
          <Timestamp value={webhookFailedAt} />: {webhookFailure}
        </Alert>
      )}
      <FormAlert failure={submit.failure} />
      <Group>
        <Button variant="default" loading={submit.isBusy} onClick={() => submit.onSubmit({})}>
          Send a test
        </Button>
        <Text role="status" fz="sm">
          {answer !== null && `The test arrived: ${answer}`}
        </Text>
      </Group>
    </>
  );
}
