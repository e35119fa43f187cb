/** Changes that an operator makes by commands, each with an audit record. */
import type { Clock } from '../../ports/execution/clock.ts'
import { NotRecorded } from '../../ports/faults/not-recorded.ts'
import type { AuditLog, AuditRecord } from '../../ports/security/audit-log.ts'

export type AuditPorts = {
  readonly clock: Clock
  /** Strict: nothing is changed that cannot be recorded. */
  readonly audit: AuditLog
  /** Who asks; absent: it is known otherwise. */
  readonly operator?: string
}

export type AuditedChange = Pick<AuditRecord, 'interaction' | 'client' | 'user' | 'subject' | 'patient' | 'key'> & {
  readonly tenant?: string
}

/** What is refused (RangeError) has changed nothing, and leaves no record; what breaks may have. */
export async function auditChange<T>(ports: AuditPorts, what: AuditedChange, change: () => Promise<T>): Promise<T> {
  const at = ports.clock.now()
  await ports.audit.prepare(at, what.interaction)
  const end = (status: number, outcome: string) => ports.audit.record(recordOf(ports, what, { at, status, outcome }))
  try {
    const result = await change()
    await end(200, 'done')
    return result
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof NotRecorded)) await end(500, 'failed')
    throw error
  }
}

type Ended = Pick<AuditRecord, 'at' | 'status' | 'outcome'>

const recordOf = ({ clock, operator }: AuditPorts, what: AuditedChange, ended: Ended): AuditRecord => ({
  ...{ tenant: '', ...what, ...ended, requestId: clock.newId(), duration: clock.now() - ended.at },
  ...(operator === undefined ? {} : { operator }),
})
