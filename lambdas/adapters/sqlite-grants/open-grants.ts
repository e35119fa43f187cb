/** What the authorization server keeps, in one file that other processes write as well. */
import type { Clients } from '../../ports/rows/clients.ts'
import type { Grants } from '../../ports/rows/grants.ts'
import type { Revocations } from '../../ports/rows/revocations.ts'
import type { Users } from '../../ports/rows/users.ts'
import { SqliteClients, SqliteUsers } from './clients-and-users.ts'
import { PAGE_SIZE, SqliteGrants } from './grants.ts'
import { openGrantsFile } from './grants-file.ts'
import { SqliteRevocations } from './revocations.ts'
import { GrantsWriter } from './writer.ts'

export type OpenedGrants = {
  readonly clients: Clients
  readonly users: Users
  readonly grants: Grants
  readonly revocations: Revocations
  /** Finishes what is under way. */
  readonly close: () => Promise<void>
}

/** `file`: made when missing. `now`: ms since 1970. `page`: of what is listed. UnusableFileError where it is something else. */
export function openGrants(file: string, now: () => number, page: number = PAGE_SIZE): OpenedGrants {
  const db = openGrantsFile(file)
  // Whatever writes waits for the disk: that is the thread's.
  db.exec('PRAGMA query_only = ON')
  const writer = new GrantsWriter(file)
  return {
    clients: new SqliteClients(db, writer),
    users: new SqliteUsers(db, writer),
    grants: new SqliteGrants(db, writer, now, page),
    revocations: new SqliteRevocations(db, writer, now),
    async close() {
      await writer.close()
      if (db.isOpen) db.close()
    },
  }
}
