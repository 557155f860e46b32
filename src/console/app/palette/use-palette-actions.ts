/** The actions of the palette, by the same rules as where they are on the pages. */
import { useMantineColorScheme } from "@mantine/core";
import {
  IconBook2,
  IconKey,
  IconKeyboard,
  IconLogout,
  IconTestPipe,
  IconUserPlus,
  IconWebhook,
  type Icon,
} from "@tabler/icons-react";
import { useRouter } from "@tanstack/react-router";
import { colorSchemes } from "../../components/layout/color-scheme-switch.tsx";
import { serverUrl } from "../api/server-url.ts";
import { useScreenGuide } from "../guide/screen-guide.ts";
import { startPageAction, type PageAction } from "../interaction/page-actions.ts";
import { useChangeMode } from "../layout/use-change-mode.ts";
import { canVisit, type Access } from "../session/access.ts";
import { useMode, type Session } from "../session/session.ts";
import { useSignOut } from "../session/use-sign-out.ts";
import { canOpen } from "./can-open.ts";
import type { PaletteItem } from "./palette.items.ts";
import { openLayer } from "./palette.layer.ts";

interface DialogAction {
  id: PageAction;
  label: string;
  icon: Icon;
  to: "/integrations/keys" | "/integrations/endpoints" | "/members";
  /** In addition to that of the page. */
  access: Access;
}

function dialogActions({
  isTest,
  isOperator,
}: {
  isTest: boolean;
  isOperator: boolean;
}): readonly DialogAction[] {
  return [
    {
      id: "create-key",
      label: isTest ? "Create test key" : "Create API key",
      icon: IconKey,
      to: "/integrations/keys",
      access: "integrations",
    },
    {
      id: "create-endpoint",
      label: "Create endpoint",
      icon: IconWebhook,
      to: "/integrations/endpoints",
      access: "endpoints",
    },
    {
      id: "invite",
      label: isOperator ? "Invite an operator" : "Invite a member",
      icon: IconUserPlus,
      to: "/members",
      access: "members",
    },
  ];
}

export function usePaletteActions(session: Session): PaletteItem[] {
  const router = useRouter();
  const mode = useMode();
  const changeMode = useChangeMode();
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const { about } = useScreenGuide();
  const otherMode = mode === "live" ? "test" : "live";

  const openDialog = async ({ id, to }: DialogAction): Promise<void> => {
    await router.navigate({ to });
    // Unsaved input may have kept the user on the page.
    if (router.state.location.pathname === to) startPageAction(id);
  };
  return [
    ...dialogActions({ isTest: mode === "test", isOperator: session.organization === null })
      .filter(({ to, access }) => canOpen(router, to, session, mode) && canVisit(session, access))
      .map((action) => ({ ...action, run: () => void openDialog(action) })),
    ...(session.organization && mode !== "partner"
      ? [
          {
            id: "mode",
            label: `Switch to ${otherMode} mode`,
            icon: IconTestPipe,
            run: () => void changeMode(otherMode),
          },
        ]
      : []),
    ...colorSchemes.map(({ value, label, icon }) => ({
      id: `colours-${value}`,
      label: `Colour scheme: ${label}`,
      icon,
      run: () => setColorScheme(value),
    })),
    { id: "keys", label: "Keyboard shortcuts", icon: IconKeyboard, run: () => openLayer("keys") },
    {
      id: "guide",
      label: `Guide: ${about.title}`,
      description: "Opens a new tab",
      icon: IconBook2,
      run: () => void window.open(serverUrl(`guide/${about.target}`), "_blank", "noopener"),
    },
    { id: "sign-out", label: "Sign out", icon: IconLogout, run: () => void signOut() },
  ];
}
