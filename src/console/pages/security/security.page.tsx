/** The user's own account: name, password, two-factor authentication, passkeys and sessions. */
import { PageHeader } from "../../components/layout/page-header.tsx";
import { PasskeysSection } from "./passkeys.section.tsx";
import { PasswordSection } from "./password.section.tsx";
import { ProfileSection } from "./profile.section.tsx";
import { SessionsSection } from "./sessions.section.tsx";
import { TwoFactorSection } from "./two-factor.section.tsx";

export function SecurityPage() {
  return (
    <>
      <PageHeader
        title="Security"
        description="Manage your profile, password, two-factor authentication, passkeys and sessions."
      />
      <ProfileSection />
      <PasswordSection />
      <TwoFactorSection />
      <PasskeysSection />
      <SessionsSection />
    </>
  );
}
