/** Changes that operators make with commands, each with an audit record. */
import type { Clock } from '../../ports/execution/clock.ts'
import { isFault } from '../../ports/faults.ts'
import type { AuditLog, AuditRecord } from '../../ports/security/audit-log.ts'

export type AuditPorts = {
  readonly clock: Clock
  /** Strict audit log: a change does not begin if its record could not be stored. */
  readonly audit: AuditLog
  /** Operating system user that runs the command, for the audit record. */
  readonly operator?: string
}

export type AuditedChange = Pick<AuditRecord, 'interaction' | 'client' | 'user' | 'subject' | 'patient' | 'key'> & {
  readonly tenant?: string
}

/**
 * Makes a change and records it. A RangeError means that the change was rejected, and leaves no record. Any other error is recorded as
 * failed, because the change may be partly made. Throws the fault `not-recorded` if a record cannot be stored: before the change, or
 * although the change was made.
 */
export async function auditChange<T>(ports: AuditPorts, what: AuditedChange, change: () => Promise<T>): Promise<T> {
  const at = ports.clock.now()
  await ports.audit.prepare(at, what.interaction)
  const end = (status: number, outcome: string) => ports.audit.record(recordOf(ports, what, { at, status, outcome }))
  try {
    const result = await change()
    await end(200, 'done')
    return result
  } catch (error) {
    if (!(error instanceof RangeError || isFault(error, 'not-recorded'))) await end(500, 'failed')
    throw error
  }
}

type Ended = Pick<AuditRecord, 'at' | 'status' | 'outcome'>

const recordOf = ({ clock, operator }: AuditPorts, what: AuditedChange, ended: Ended): AuditRecord => ({
  ...{ tenant: '', ...what, ...ended, requestId: clock.newId(), duration: clock.now() - ended.at },
  ...(operator === undefined ? {} : { operator }),
})
