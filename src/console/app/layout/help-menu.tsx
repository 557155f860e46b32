/** Links to the guide and the references. */
import { ActionIcon, Menu } from "@mantine/core";
import {
  IconApi,
  IconBraces,
  IconHelp,
  IconKeyboard,
  IconLifebuoy,
  IconRocket,
  IconUrgent,
} from "@tabler/icons-react";
import { GuideMenuItem, ServerMenuItem } from "../../components/layout/guide-menu-item.tsx";
import { guide } from "../guide/guide-pages.ts";
import { useScreenGuide } from "../guide/screen-guide.ts";
import { canVisit } from "../session/access.ts";
import { openLayer } from "../palette/palette.layer.ts";
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
        <GuideMenuItem page={about} />
        <Menu.Item
          leftSection={<IconKeyboard size={16} stroke={1.7} aria-hidden="true" />}
          onClick={() => openLayer("keys")}
        >
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Label>Guide</Menu.Label>
        <GuideMenuItem icon={IconRocket} page={guide.quickstart} />
        <GuideMenuItem icon={IconUrgent} page={guide.errors} label="Error codes" />
        {canVisit(session, "operator") && <GuideMenuItem icon={IconLifebuoy} page={guide.runbooks} />}
        <Menu.Label>Reference</Menu.Label>
        <ServerMenuItem icon={IconApi} path="docs" label="API reference" />
        <ServerMenuItem icon={IconBraces} path="graphiql" label="GraphQL explorer" />
      </Menu.Dropdown>
    </Menu>
  );
}
