/** The members of an organisation and pending invitations; for operators, the operators. */
import { Button, Stack, Title } from "@mantine/core";
import { useQuery } from "@apollo/client/react";
import { useDisclosure } from "@mantine/hooks";
import { IconUserPlus } from "@tabler/icons-react";
import { usePageAction } from "../../app/interaction/page-actions.ts";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { MembersDocument } from "../../generated/members.ts";
import { InvitationsTable } from "./invitations.table.tsx";
import { InviteDialog } from "./invite.dialog.tsx";
import { SingleSignOnSection } from "./single-sign-on.section.tsx";
import { TimeZoneSection } from "./time-zone.section.tsx";
import { MembersTable } from "./members.table.tsx";

export function MembersPage() {
  const session = useSession();
  const canManage = canVisit(session, "members");
  const isOperator = session.user.role === "operator";
  const [isInviting, inviting] = useDisclosure(false);
  usePageAction("invite", inviting.open);
  const { data, error, refetch } = useQuery(MembersDocument, { variables: { isManager: canManage } });
  const reload = (): Promise<unknown> => refetch();
  return (
    <>
      <PageHeader
        title={isOperator ? "Operators" : "Members"}
        description={
          isOperator
            ? "Users who run this service. Operators can see every organisation."
            : `Users of ${session.organization?.name}. Their role says what they can do.`
        }
        actions={
          canManage && (
            <Button leftSection={<IconUserPlus size={16} aria-hidden="true" />} onClick={inviting.open}>
              Invite{" "}
            </Button>
          )
        }
      />
      {data?.members ? (
        <Stack gap="xl">
          <MembersTable members={data.members} canManage={canManage} onChange={reload} />
          {data.invitations && data.invitations.length > 0 && (
            <section aria-labelledby="invitations">
              <Title order={2} id="invitations" mb="sm">
                Invitations
              </Title>
              <InvitationsTable invitations={data.invitations} onChange={reload} />
            </section>
          )}
          {canManage && !isOperator && <TimeZoneSection />}
          {canManage && !isOperator && <SingleSignOnSection />}
        </Stack>
      ) : error ? (
        <ErrorState error={error} onRetry={() => void reload()} />
      ) : (
        <LoadingState />
      )}
      {canManage && (
        <InviteDialog
          opened={isInviting}
          onClose={inviting.close}
          isOperator={isOperator}
          onInvited={() => void reload()}
        />
      )}
    </>
  );
}
