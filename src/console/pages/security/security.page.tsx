/** The user's own account: name, password, two-factor authentication and sessions. */
import { PageHeader } from "../../components/layout/page-header.tsx";
import { PasswordSection } from "./password.section.tsx";
import { ProfileSection } from "./profile.section.tsx";
import { SessionsSection } from "./sessions.section.tsx";
import { TwoFactorSection } from "./two-factor.section.tsx";

export function SecurityPage() {
  return (
    <>
      <PageHeader
        title="Security"
        description="Manage your profile, password, two-factor authentication and sessions."
      />
      <ProfileSection />
      <PasswordSection />
      <TwoFactorSection />
      <SessionsSection />
    </>
  );
}
