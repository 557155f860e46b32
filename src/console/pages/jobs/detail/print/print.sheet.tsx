/** A job on one page of A4, with its Marking Number as barcodes. Only print shows it, in place of the page. */
import { useEffect, useRef } from "react";
import { createPortal } from "react-dom";
import { formatDay, formatNumber, formatTime } from "../../../../app/formats.ts";
import { useZone } from "../../../../app/session/zone.ts";
import type { JobRowFragment } from "../../../../generated/job-row.ts";
import { dueDay } from "../../job.due.ts";
import { code128Of, qrCodeOf } from "./barcodes.ts";
import classes from "./print.module.css";

/** Opens the browser's dialog when it appears. */
export function PrintSheet({ job }: { job: JobRowFragment }) {
  const sheet = useRef<HTMLDivElement>(null);
  const zone = useZone();
  const code128 = code128Of(job.markingNumber);
  const due = dueDay(job);
  useEffect(() => {
    const pictures = [...(sheet.current?.querySelectorAll("img") ?? [])];
    void Promise.all(pictures.map((picture) => picture.decode())).then(() => window.print());
  }, []);
  return createPortal(
    <div ref={sheet} className={classes.sheet}>
      <header className={classes.head}>
        <div>
          <p className={classes.number}>{job.markingNumber}</p>
          <p>{due === null ? "No due date" : `Due ${formatDay(due)}`}</p>
        </div>
        <img
          className={classes.qr}
          src={qrCodeOf(job.markingNumber)}
          alt={`QR code of ${job.markingNumber}`}
        />
      </header>
      {code128 && (
        <img
          className={classes.code128}
          src={code128.url}
          alt={`Code 128 of ${job.markingNumber}`}
          style={{ width: `${code128.widthMm}mm` }}
        />
      )}
      <dl className={classes.delivery}>
        <Line label="Recipient">{job.recipientName}</Line>
        <Line label="Delivery address">
          {[job.deliveryAddress, job.postalCode].filter((part) => part !== null).join("\n")}
        </Line>
        <Line label="Contact">{job.recipientContact}</Line>
      </dl>
      <dl className={classes.goods}>
        <Line label="Pieces">{job.pieceQuantity !== null && formatNumber(job.pieceQuantity)}</Line>
        <Line label="Weight">{job.weight !== null && formatNumber(job.weight)}</Line>
        <Line label="Labels">{job.labels}</Line>
        <Line label="Batch number">{job.batchNumber}</Line>
        <Line label="Group code">{job.groupCode}</Line>
        <Line label="Agent">{job.agent.name}</Line>
        <Line label="Contractor">{job.contractor?.name}</Line>
      </dl>
      <dl>
        <Line label="Instructions">{job.instructions}</Line>
      </dl>
      <p className={classes.foot}>
        {job.status.label}, version {formatNumber(job.version)}, last updated{" "}
        {formatTime(new Date(job.updatedAt), zone, "zoned")}
      </p>
    </div>,
    document.body,
  );
}

interface LineProps {
  label: string;
  children: string | false | null | undefined;
}

function Line({ label, children }: LineProps) {
  if (!children) return null;
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
