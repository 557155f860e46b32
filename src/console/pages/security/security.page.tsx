/** One's own account: name, password, second factor and sessions. */
import { PageHeader } from "../../components/layout/page-header.tsx";
import { PasswordSection } from "./password.section.tsx";
import { ProfileSection } from "./profile.section.tsx";
import { SessionsSection } from "./sessions.section.tsx";
import { TwoFactorSection } from "./two-factor.section.tsx";

export function SecurityPage() {
  return (
    <>
      <PageHeader title="Security" description="Your own account, whatever organisation you belong to." />
      <ProfileSection />
      <PasswordSection />
      <TwoFactorSection />
      <SessionsSection />
    </>
  );
}
