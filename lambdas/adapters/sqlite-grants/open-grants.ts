/** Opens the data of the authorization server. Other processes may write the same file. */
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
  /** Waits for pending changes, then closes the file. */
  readonly close: () => Promise<void>
}

/**
 * Opens the file, or creates it. `now`: clock in milliseconds since 1970. `page`: maximum grants per page of a list. Throws
 * UnusableFileError if the file belongs to another program or a newer version, or is damaged.
 */
export function openGrants(file: string, now: () => number, page: number = PAGE_SIZE): OpenedGrants {
  const db = openGrantsFile(file)
  // This connection must only read: writes wait for the disk and would block this thread. The writer thread executes them.
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
