/** Links to the guide, the references and the health of the service. */
import { ActionIcon, Menu } from "@mantine/core";
import {
  IconApi,
  IconBook2,
  IconBraces,
  IconHeartbeat,
  IconHelp,
  IconLifebuoy,
  IconRocket,
  IconUrgent,
  type Icon,
} from "@tabler/icons-react";
import { serverUrl } from "../api/server-url.ts";
import { guide, type GuidePage } from "../guide/guide-pages.ts";
import { useScreenGuide } from "../guide/screen-guide.ts";
import { canVisit } from "../session/access.ts";
import type { Session } from "../session/session.ts";

export function HelpMenu({ session }: { session: Session }) {
  const { about } = useScreenGuide();
  return (
    // Inside the side bar or the header, which are landmarks; fixed, so that the side bar does not clip it.
    <Menu position="top-end" width={240} withinPortal={false} floatingStrategy="fixed">
      <Menu.Target>
        <ActionIcon aria-label="Help" title="Help">
          <IconHelp size={20} stroke={1.7} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>This page</Menu.Label>
        <GuideItem icon={IconBook2} page={about} />
        <Menu.Label>Guide</Menu.Label>
        <GuideItem icon={IconRocket} page={guide.quickstart} />
        <GuideItem icon={IconUrgent} page={guide.errors} label="Error codes" />
        {canVisit(session, "operator") && <GuideItem icon={IconLifebuoy} page={guide.runbooks} />}
        <Menu.Label>Reference</Menu.Label>
        <HelpItem icon={IconApi} path="docs" label="API reference" />
        <HelpItem icon={IconBraces} path="graphiql" label="GraphQL explorer" />
        <HelpItem icon={IconHeartbeat} path="health/ready" label="Service health" />
      </Menu.Dropdown>
    </Menu>
  );
}

function GuideItem({ icon, page, label = page.title }: { icon: Icon; page: GuidePage; label?: string }) {
  return <HelpItem icon={icon} path={`guide/${page.target}`} label={label} />;
}

function HelpItem({ icon: Picture, path, label }: { icon: Icon; path: string; label: string }) {
  return (
    <Menu.Item
      component="a"
      href={serverUrl(path)}
      target="_blank"
      rel="noopener"
      leftSection={<Picture size={16} stroke={1.7} aria-hidden="true" />}
    >
      {label}
    </Menu.Item>
  );
}
