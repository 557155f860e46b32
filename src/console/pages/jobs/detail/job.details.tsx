/** The details of a job, with the most important ones first. Its head has the status, the due date and the failure reason. */
import { formatNumber } from "../../../app/formats.ts";
import { Paper, SimpleGrid, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Clamped } from "../../../components/display/clamped.tsx";
import { Day, Timestamp } from "../../../components/display/timestamp.tsx";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { Contact, DeliveryAddress } from "./job.contact.tsx";
import classes from "./job.module.css";

export function JobDetails({ job }: { job: JobRowFragment }) {
  return (
    <Paper className={classes.card}>
      <DetailSection title="Delivery">
        <DetailItem label="Recipient">{job.recipientName}</DetailItem>
        <DetailItem label="Contact">
          {job.recipientContact && <Contact value={job.recipientContact} />}
        </DetailItem>
        <DetailItem label="Delivery address">
          {job.deliveryAddress && (
            <DeliveryAddress address={job.deliveryAddress} postalCode={job.postalCode} />
          )}
        </DetailItem>
        <DetailItem label="Postal code">{job.postalCode}</DetailItem>
        <DetailItem label="Instructions" isWide>
          {job.instructions && <Clamped text={job.instructions} />}
        </DetailItem>
      </DetailSection>
      <DetailSection title="Schedule">
        <DetailItem label="Scheduled date">
          {job.scheduledDate && <Day value={job.scheduledDate} />}
        </DetailItem>
        <DetailItem label="Confirmed date">
          {job.scheduledDeliveryDate && <Day value={job.scheduledDeliveryDate} />}
        </DetailItem>
        <DetailItem label="Confirmation pending">{job.scheduledDeliveryPending ? "Yes" : "No"}</DetailItem>
        <DetailItem label="Carrier's status">{job.providerStatus}</DetailItem>
      </DetailSection>
      <DetailSection title="Goods">
        <DetailItem label="Pieces">
          {job.pieceQuantity !== null && formatNumber(job.pieceQuantity)}
        </DetailItem>
        <DetailItem label="Weight">{job.weight !== null && formatNumber(job.weight)}</DetailItem>
        <DetailItem label="PTS">{job.pts !== null && formatNumber(job.pts)}</DetailItem>
        <DetailItem label="Labels">{job.labels}</DetailItem>
        <DetailItem label="Batch number">{job.batchNumber}</DetailItem>
        <DetailItem label="Group code">{job.groupCode}</DetailItem>
      </DetailSection>
      <DetailSection title="Parties">
        <DetailItem label="Agent">{job.agent.name}</DetailItem>
        <DetailItem label="Contractor">{job.contractor?.name ?? "Not assigned"}</DetailItem>
        <DetailItem label="Created">
          <Timestamp value={job.createdAt} display="exact" />
        </DetailItem>
        <DetailItem label="Last updated">
          <Timestamp value={job.updatedAt} />, version {formatNumber(job.version)}
        </DetailItem>
      </DetailSection>
    </Paper>
  );
}

function DetailSection({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={classes.section}>
      <Title order={2} mb="sm">
        {title}
      </Title>
      <SimpleGrid component="dl" cols={{ base: 1, xs: 2 }} spacing="md" verticalSpacing="sm" m={0}>
        {children}
      </SimpleGrid>
    </section>
  );
}

interface DetailItemProps {
  label: string;
  isWide?: boolean;
  /** False, null or empty text are shown as "Not set". */
  children: ReactNode;
}

function DetailItem({ label, isWide = false, children }: DetailItemProps) {
  const isKnown = children !== null && children !== false && children !== "";
  return (
    <div className={classes.fact} data-wide={isWide || undefined}>
      <dt>{label}</dt>
      <dd data-unknown={!isKnown || undefined}>{isKnown ? children : "Not set"}</dd>
    </div>
  );
}
