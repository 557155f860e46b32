/** How much of the database the organisation uses. */
import { useQuery } from "@apollo/client/react";
import { formatBytes } from "../../../app/formats.ts";
import { DescriptionCard } from "../../../components/display/description-card.tsx";
import { ErrorState, LoadingCard } from "../../../components/status/page-states.tsx";
import { OrganizationStorageDocument } from "../../../generated/organization.ts";

export function OrganizationStorage({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(OrganizationStorageDocument, { variables: { id } });
  const storage = data?.organizationOverview?.storage;
  if (!storage)
    return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <LoadingCard height={220} />;
  const { jobs, events, deliveries, requestLog, auditLog } = storage;
  return (
    <DescriptionCard
      label="Storage"
      items={[
        {
          label: "Storage (estimated)",
          value: formatBytes(jobs + events + deliveries + requestLog + auditLog),
        },
        { label: "Jobs", value: formatBytes(jobs) },
        { label: "Events", value: formatBytes(events) },
        { label: "Deliveries", value: formatBytes(deliveries) },
        { label: "Request log", value: formatBytes(requestLog) },
        { label: "Audit log", value: formatBytes(auditLog) },
      ]}
    />
  );
}
