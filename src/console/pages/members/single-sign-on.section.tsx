/** An owner connects the organisation to its identity provider, proves the e-mail domain, and removes the connection. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { notify } from "../../app/interaction/notify.tsx";
import { useUnsavedInput } from "../../app/interaction/unsaved-changes.tsx";
import { useSubmit } from "../../app/interaction/use-submit.ts";
import { useSession } from "../../app/session/session.ts";
import { signOut } from "../../app/session/sign-out.ts";
import { ConfirmDialog } from "../../components/dialogs/confirm-dialog.tsx";
import { CodeBlock } from "../../components/display/code-block.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { FormAlert } from "../../components/forms/form-alert.tsx";
import { PasswordField } from "../../components/forms/password-field.tsx";
import { Section } from "../../components/layout/section.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import {
  RemoveSingleSignOnDocument,
  SetSingleSignOnDocument,
  SingleSignOnDocument,
  type SingleSignOnPartsFragment,
  VerifySingleSignOnDomainDocument,
} from "../../generated/single-sign-on.ts";

export function SingleSignOnSection() {
  const { data, error, refetch } = useQuery(SingleSignOnDocument);
  const connection = data?.singleSignOn;
  const reload = (): Promise<unknown> => refetch();
  return (
    <Section
      title="Single sign-on"
      description="Your users sign in with your own identity provider (OpenID Connect), such as Okta, Entra ID or Google."
    >
      {connection ? (
        <Stack>
          <ConnectionForm key={connection.issuer} connection={connection} onChange={reload} />
          {connection.issuer !== null && <DomainProof connection={connection} onChange={reload} />}
          {connection.issuer !== null && <Removal onChange={reload} />}
        </Stack>
      ) : error ? (
        <ErrorState error={error} onRetry={() => void reload()} />
      ) : (
        <LoadingState />
      )}
    </Section>
  );
}

interface PartProps {
  connection: SingleSignOnPartsFragment;
  onChange: () => Promise<unknown>;
}

function ConnectionForm({ connection, onChange }: PartProps) {
  const [save] = useMutation(SetSingleSignOnDocument);
  const { issuer, clientId, domain } = connection;
  const initialValues = {
    issuer: issuer ?? "",
    clientId: clientId ?? "",
    clientSecret: "",
    domain: domain ?? "",
  };
  const form = useForm({ mode: "uncontrolled", initialValues });
  useUnsavedInput(() => (form.isDirty() ? "changed" : "clean"));
  const submit = useSubmit(form, async (values) => {
    const input = { ...values, clientSecret: values.clientSecret || null };
    payloadOrThrow((await save({ variables: { input } })).data?.setSingleSignOn);
    form.setFieldValue("clientSecret", "");
    await onChange();
    notify("Single sign-on saved.");
  });
  const text = (name: "issuer" | "clientId" | "domain", label: string, description: string) => (
    <TextInput
      key={form.key(name)}
      {...form.getInputProps(name)}
      label={label}
      description={description}
      autoComplete="off"
      required
      withAsterisk={false}
    />
  );
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack maw={520}>
        <Text fz="sm">Register Waymark at your identity provider with this redirect URI:</Text>
        <CodeBlock code={connection.redirectUri} label="redirect URI" wrap />
        <FormAlert failure={submit.failure} />
        {text("issuer", "Issuer", "The URL exactly as your provider shows it.")}
        {text("clientId", "Client ID", "Of Waymark at your provider.")}
        <PasswordField
          key={form.key("clientSecret")}
          {...form.getInputProps("clientSecret")}
          label="Client secret"
          description={issuer === null ? "We store it encrypted." : "Leave it empty to keep the stored one."}
          autoComplete="off"
          required={issuer === null}
        />
        {text("domain", "E-mail domain", "Users with these e-mail addresses can sign in.")}
        <Group>
          <Button type="submit" variant="default" loading={submit.isBusy}>
            {issuer === null ? "Connect" : "Save"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function DomainProof({ connection, onChange }: PartProps) {
  const [verify] = useMutation(VerifySingleSignOnDomainDocument);
  const form = useForm({ mode: "uncontrolled", initialValues: {} });
  const submit = useSubmit(form, async () => {
    payloadOrThrow((await verify()).data?.verifySingleSignOnDomain);
    await onChange();
    notify("Domain verified. Your users can sign in with single sign-on.");
  });
  const { domain, verificationRecord, verifiedAt } = connection;
  if (verifiedAt !== null)
    return (
      <Text>
        {domain} was verified <Timestamp value={verifiedAt} />.
      </Text>
    );
  return (
    <form onSubmit={form.onSubmit(submit.onSubmit)}>
      <Stack maw={520}>
        <Text fz="sm">
          Users can’t sign in with it yet. Add this TXT record to the DNS of {domain}, then verify it:
        </Text>
        <CodeBlock code={verificationRecord ?? ""} label="TXT record" wrap />
        <FormAlert failure={submit.failure} />
        <Group>
          <Button type="submit" loading={submit.isBusy}>
            Verify domain
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Removal({ onChange }: Pick<PartProps, "onChange">) {
  const { user } = useSession();
  const [remove] = useMutation(RemoveSingleSignOnDocument);
  const [isOpen, dialog] = useDisclosure(false);
  const confirm = async (): Promise<void> => {
    payloadOrThrow((await remove()).data?.removeSingleSignOn);
    // It has ended this session too.
    if (user.by_sso) return await signOut();
    await onChange();
    notify("Single sign-on removed.");
    return undefined;
  };
  return (
    <>
      <Group>
        <Button variant="default" color="red" onClick={dialog.open}>
          Remove single sign-on
        </Button>
      </Group>
      <ConfirmDialog
        opened={isOpen}
        onClose={dialog.close}
        title="Remove single sign-on?"
        action="Remove"
        isDangerous
        onConfirm={confirm}
      >
        Everyone who signed in with it is signed out, you too. They sign in with their passwords again.
        Without one, choose “Forgotten your password?” on the sign-in page.
      </ConfirmDialog>
    </>
  );
}
