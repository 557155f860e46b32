/** What a request says, and what became of it. */
import { CopyButton } from "../../components/copy-button.tsx";
import { Group } from "@mantine/core";
import { Facts } from "../../components/facts.tsx";
import { TextLink } from "../../components/links.tsx";
import { Timestamp, useNow } from "../../components/timestamp.tsx";
import type { AccountRequestViewFragment } from "../../generated/account-request.ts";
import { organizationTypes } from "./account-request.words.ts";

export function AccountRequestFacts({ request }: { request: AccountRequestViewFragment }) {
  const { email, organizationName, organizationType, organization, createdAt, decidedAt, decidedBy } =
    request;
  const { registrationExpiresAt } = request;
  return (
    <Facts
      label="The request"
      facts={[
        { label: "E-mail", value: <Address email={email} /> },
        { label: "Organisation asked for", value: organizationName },
        { label: "Kind", value: organizationTypes[organizationType] },
        { label: "Received", value: <Timestamp value={createdAt} display="exact" /> },
        { label: "Decided", value: decidedAt && <Timestamp value={decidedAt} display="exact" /> },
        { label: "Decided by", value: decidedBy },
        {
          label: "Registration’s link",
          value: registrationExpiresAt && <LinkEnd at={registrationExpiresAt} />,
        },
        {
          label: "Organisation made",
          value: organization && (
            <TextLink to="/operator/organizations/$id" params={{ id: organization.id }}>
              {organization.name}
            </TextLink>
          ),
        },
      ]}
    />
  );
}

function Address({ email }: { email: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <span>{email}</span>
      <CopyButton value={email} label="e-mail address" />
    </Group>
  );
}

function LinkEnd({ at }: { at: string }) {
  const hasEnded = Date.parse(at) < useNow();
  return (
    <>
      {hasEnded ? "Ended " : "Ends "}
      <Timestamp value={at} />
      {hasEnded && ": resend it if they still want in"}
    </>
  );
}
