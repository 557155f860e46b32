/** The details of an account request. */
import { Email } from "../../../components/display/email.tsx";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { Group } from "@mantine/core";
import { DescriptionCard } from "../../../components/display/description-card.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { AccountRequestViewFragment } from "../../../generated/account-request.ts";
import { organizationTypeLabels } from "./account-request.labels.ts";

export function AccountRequestDetails({ request }: { request: AccountRequestViewFragment }) {
  const { email, organizationName, organizationType, organization, createdAt, decidedAt, decidedBy } =
    request;
  const { registrationExpiresAt } = request;
  return (
    <DescriptionCard
      label="Request details"
      items={[
        { label: "E-mail", value: <CopyableEmail email={email} /> },
        { label: "Requested name", value: organizationName },
        { label: "Type", value: organizationTypeLabels[organizationType] },
        { label: "Received", value: <Timestamp value={createdAt} display="exact" /> },
        { label: "Decided", value: decidedAt && <Timestamp value={decidedAt} display="exact" /> },
        { label: "Decided by", value: decidedBy },
        {
          label: "Registration link",
          value: registrationExpiresAt && <LinkExpiry expiresAt={registrationExpiresAt} />,
        },
        {
          label: "Organisation",
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

function CopyableEmail({ email }: { email: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <span>
        <Email address={email} />
      </span>
      <CopyButton value={email} label="e-mail address" />
    </Group>
  );
}

function LinkExpiry({ expiresAt }: { expiresAt: string }) {
  const isExpired = Date.parse(expiresAt) < useNow();
  return (
    <>
      {isExpired ? "Expired " : "Expires "}
      <Timestamp value={expiresAt} />
      {isExpired && ". Resend it if they still want access."}
    </>
  );
}
