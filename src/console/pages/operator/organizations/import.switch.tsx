/** Lets the owners and dispatchers of an agent import jobs. */
import { useMutation } from "@apollo/client/react";
import { Switch } from "@mantine/core";
import { notify, notifyError } from "../../../app/interaction/notify.tsx";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { AuditPageDocument } from "../../../generated/audit-log.ts";
import { AllowJobImportDocument } from "../../../generated/organization.ts";

interface ImportSwitchProps {
  organization: { readonly id: string; readonly name: string; readonly canImportJobs: boolean | null };
}

export function ImportSwitch({ organization: { id, name, canImportJobs } }: ImportSwitchProps) {
  const [allow, { loading }] = useMutation(AllowJobImportDocument, { refetchQueries: [AuditPageDocument] });
  const change = async (allowed: boolean): Promise<void> => {
    try {
      payloadOrThrow((await allow({ variables: { id, allowed } })).data?.allowJobImport);
      notify(allowed ? `${name} can import jobs.` : `${name} can no longer import jobs.`);
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Switch
      label="Owners and dispatchers can import files"
      checked={canImportJobs === true}
      disabled={loading}
      onChange={({ currentTarget }) => void change(currentTarget.checked)}
    />
  );
}
