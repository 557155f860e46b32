/** What is known of a job, in the order in which somebody on the road would ask. */
import { Paper, SimpleGrid, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Day, Timestamp } from "../../components/timestamp.tsx";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { isLate, todayUtc } from "./job.category.ts";
import classes from "./job.module.css";
import { inWords, numberWords, type Names } from "./job.words.ts";

export function JobFacts({ job, names }: { job: JobRowFragment; names: Names }) {
  return (
    <Paper className={classes.card}>
      <Facts title="Delivery">
        <Fact label="Recipient">{job.recipientName}</Fact>
        <Fact label="Contact">{job.recipientContact}</Fact>
        <Fact label="Address">{job.deliveryAddress}</Fact>
        <Fact label="Postal code">{job.postalCode}</Fact>
        <Fact label="Instructions" isWide>
          {job.instructions}
        </Fact>
      </Facts>
      <Facts title="Status and schedule">
        <Fact label="Status">{job.status.label}</Fact>
        <Fact label="Failure reason">
          {job.failureReason && inWords("failureReason", job.failureReason, names)}
        </Fact>
        <Fact label="Carrier's status">{job.providerStatus}</Fact>
        <Fact label="Scheduled date">{job.scheduledDate && <Day value={job.scheduledDate} />}</Fact>
        <Fact label="Confirmed date">
          {job.scheduledDeliveryDate && <Day value={job.scheduledDeliveryDate} />}
        </Fact>
        <Fact label="Confirmation pending">{job.scheduledDeliveryPending ? "Yes" : "No"}</Fact>
        {isLate(job, todayUtc()) && (
          <Fact label="Late" isWide>
            <span className={classes.late}>It was due before today, and is not done.</span>
          </Fact>
        )}
      </Facts>
      <Facts title="Goods">
        <Fact label="Pieces">{job.pieceQuantity !== null && numberWords(job.pieceQuantity)}</Fact>
        <Fact label="Weight">{job.weight !== null && numberWords(job.weight)}</Fact>
        <Fact label="PTS">{job.pts !== null && numberWords(job.pts)}</Fact>
        <Fact label="Labels">{job.labels}</Fact>
        <Fact label="Batch number">{job.batchNumber}</Fact>
        <Fact label="Group code">{job.groupCode}</Fact>
      </Facts>
      <Facts title="Parties">
        <Fact label="Agent">{job.agent.name}</Fact>
        <Fact label="Contractor">{job.contractor?.name ?? "Not assigned"}</Fact>
        <Fact label="Created">
          <Timestamp value={job.createdAt} display="exact" />
        </Fact>
        <Fact label="Last changed">
          <Timestamp value={job.updatedAt} />, version {numberWords(job.version)}
        </Fact>
      </Facts>
    </Paper>
  );
}

function Facts({ title, children }: { title: string; children: ReactNode }) {
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

interface FactProps {
  label: string;
  isWide?: boolean;
  /** False, null or empty: it is not known. */
  children: ReactNode;
}

function Fact({ label, isWide = false, children }: FactProps) {
  const isKnown = children !== null && children !== false && children !== "";
  return (
    <div className={classes.fact} data-wide={isWide || undefined}>
      <dt>{label}</dt>
      <dd data-unknown={!isKnown || undefined}>{isKnown ? children : "Not given"}</dd>
    </div>
  );
}
