/** What somebody will be sent, before it is. */
import { Text } from "@mantine/core";
import classes from "./mail-preview.module.css";
import type { MailDraft } from "./mail-drafts.ts";

/** `hole`: what stands in the place of words that are still to be written. */
export function MailPreview({ draft, hole }: { draft: MailDraft; hole?: string }) {
  return (
    <section className={classes.root} aria-label="The mail that is sent">
      <Text fz="sm" c="dimmed">
        To {draft.to}
      </Text>
      <Text fz="sm" fw={650} mb="xs">
        {draft.subject}
      </Text>
      {draft.paragraphs.map((paragraph, at) => (
        // Paragraphs never change their places.
        // oxlint-disable-next-line react/no-array-index-key
        <p key={at} data-hole={paragraph.trim() === "" || undefined}>
          {paragraph.trim() === "" ? hole : paragraph}
        </p>
      ))}
      {draft.action && <span className={classes.action}>{draft.action}</span>}
    </section>
  );
}
