/** Reads stored audit records, for an operator. */
import type { AuditRecord } from './audit-log.ts'

/** Condition on audit records. All given properties must hold. */
export type AuditFilter = {
  /** Tenant of the request. */
  readonly tenant?: string
  /** Id of a client. */
  readonly client?: string
  /** Login name of a user. */
  readonly user?: string
  /** Id of a Patient: of one in `patients`, of the patient in context, or of the Patient that is `key`. */
  readonly patient?: string
}

/** Half-open period in milliseconds since 1970. */
export type Period = { readonly from: number; readonly to: number }

export interface AuditReader {
  /**
   * Yields the stored records of requests that arrived in the period and pass the filter, day by day (UTC). Within a day they have the order of
   * the store, which is about that of the responses.
   */
  read(period: Period, filter: AuditFilter): AsyncGenerator<AuditRecord>
}

/** Returns a test of the filter. */
export function auditTestOf({ tenant, client, user, patient }: AuditFilter): (record: AuditRecord) => boolean {
  const named = patient === undefined ? undefined : `Patient/${patient}`
  return (record) =>
    (client === undefined || record.client === client) &&
    (user === undefined || record.user === user) &&
    (named === undefined
      ? tenant === undefined || record.tenant === tenant
      : namedTenants(record, named).some((each) => tenant === undefined || each === tenant))
}

/** Returns the tenants in which the record names the patient, as `Patient/1`. A login page of several tenants names `north/Patient/1`. */
function namedTenants({ tenant, patient, key, patients = [] }: AuditRecord, named: string): readonly string[] {
  const own = `Patient/${patient}` === named || key === named || patients.includes(named) ? [tenant] : []
  return [...own, ...patients.filter((each) => each.endsWith(`/${named}`)).map((each) => each.slice(0, -named.length - 1))]
}
