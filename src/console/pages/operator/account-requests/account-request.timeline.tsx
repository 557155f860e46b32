/** The questions, answers, notes and decision of a request, oldest first. */
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

const noteKinds: Record<AccountRequestNoteKind, { icon: Icon; title: (by: string) => string }> = {
  NOTE: { icon: IconNote, title: (by) => `${by} added a note for operators` },
  QUESTION: { icon: IconMessageQuestion, title: (by) => `${by} asked a question` },
  ANSWER: { icon: IconMessageCircle, title: (by) => `${by} answered` },
  REJECTION: { icon: IconX, title: (by) => `${by} rejected the request with this reason` },
  APPROVAL: { icon: IconCheck, title: (by) => `${by} approved the request` },
};

export function AccountRequestTimeline({ request }: { request: AccountRequestViewFragment }) {
  return (
    <Timeline bulletSize={30} lineWidth={2} color="gray" styles={{ itemTitle: { lineHeight: 1.4 } }}>
      <Timeline.Item
        bullet={<IconInbox size={16} aria-hidden="true" />}
        title={`${request.email} requested an account`}
      >
        <EntryTime value={request.createdAt} />
      </Timeline.Item>
      {request.notes.map(({ at, by, kind, text }) => {
        const { icon: Picture, title } = noteKinds[kind];
        return (
          <Timeline.Item
            key={`${at} ${kind}`}
            bullet={<Picture size={16} aria-hidden="true" />}
            title={title(by)}
          >
            <EntryTime value={at} />
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

function EntryTime({ value }: { value: string }) {
  return (
    <Text c="dimmed" fz="sm">
      <Timestamp value={value} />
    </Text>
  );
}
