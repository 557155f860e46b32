/** What was asked, answered, noted and decided, oldest first. */
import { Text, Timeline } from "@mantine/core";
import {
  IconCheck,
  IconInbox,
  IconMessageCircle,
  IconMessageQuestion,
  IconNote,
  IconX,
  type Icon,
} from "@tabler/icons-react";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type {
  AccountRequestNoteKind,
  AccountRequestViewFragment,
} from "../../../generated/account-request.ts";
import classes from "../operator.module.css";

const noteKinds: Record<AccountRequestNoteKind, { icon: Icon; says: (by: string) => string }> = {
  NOTE: { icon: IconNote, says: (by) => `${by} noted, for operators alone` },
  QUESTION: { icon: IconMessageQuestion, says: (by) => `${by} asked` },
  ANSWER: { icon: IconMessageCircle, says: (by) => `${by} answered` },
  REJECTION: { icon: IconX, says: (by) => `${by} rejected it, and told the person why` },
  APPROVAL: { icon: IconCheck, says: (by) => `${by} approved it` },
};

export function AccountRequestTimeline({ request }: { request: AccountRequestViewFragment }) {
  return (
    <Timeline bulletSize={30} lineWidth={2} color="gray" styles={{ itemTitle: { lineHeight: 1.4 } }}>
      <Timeline.Item
        bullet={<IconInbox size={16} aria-hidden="true" />}
        title={`${request.email} asked for an account`}
      >
        <EntryTime at={request.createdAt} />
      </Timeline.Item>
      {request.notes.map(({ at, by, kind, text }) => {
        const { icon: Picture, says } = noteKinds[kind];
        return (
          <Timeline.Item
            key={`${at} ${kind}`}
            bullet={<Picture size={16} aria-hidden="true" />}
            title={says(by)}
          >
            <EntryTime at={at} />
            {kind !== "APPROVAL" || text !== "Approved" ? (
              <Text mt={4} className={classes.words}>
                {text}
              </Text>
            ) : null}
          </Timeline.Item>
        );
      })}
    </Timeline>
  );
}

function EntryTime({ at }: { at: string }) {
  return (
    <Text c="dimmed" fz="sm">
      <Timestamp value={at} />
    </Text>
  );
}
