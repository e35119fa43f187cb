/** Administration of an embedded server: clients, users and signing keys in its data folder. A running server uses each change at once. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { FilesystemAuditReader } from '../../adapters/filesystem/audit-reader.ts'
import { CommandAuditLog } from '../../adapters/filesystem/command-audit-log.ts'
import { makeFolder } from '../../adapters/filesystem/durable-file.ts'
import { checkEntry } from '../../adapters/filesystem/folder-entries.ts'
import { FilesystemSigningKeys } from '../../adapters/filesystem/signing-keys.ts'
import { addressFilterOf, fetchBlockReason } from '../../adapters/https/private-hosts.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { openGrants } from '../../adapters/sqlite-grants/open-grants.ts'
import type { AdministrationPorts } from '../../auth/administration/administration.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import type { Grants } from '../../ports/rows/grants.ts'
import type { AuditReader } from '../../ports/security/audit-reader.ts'
import { readConfig } from '../config.ts'
import { nameOfOperator } from '../operator-name.ts'
import { AUDIT_FOLDER, isEmpty, makeStore } from './lost-files.ts'

export {
  addClient,
  addLaunch,
  addUser,
  type ClientChange,
  type CredentialRotation,
  changePassword,
  checkClient,
  type NewClient,
  type RegisteredClient,
  removeClient,
  removeUser,
  rotateClientCredentials,
  rotateKeys,
  updateClient,
} from '../../auth/administration/administration.ts'
export { inviteClient } from '../../auth/administration/invite-client.ts'
export { clientKeysOf } from '../../auth/clients/client-keys.ts'
export { clientMetadataOf } from '../../auth/clients/client-metadata.ts'
export { INVITED_SCOPES, type MadeInvitation } from '../../auth/clients/invitations.ts'
export { toUser } from '../../auth/clients/registration.ts'
export type { Launch } from '../../auth/launch/launches.ts'
export { KEY_COPY_LIFETIME_MS, KEY_DISCOVERY_MS, signingKeyAt } from '../../auth/tokens/key-rotation.ts'
export { NPI } from '../../partners/codes.ts'
export { isNpi } from '../../partners/consent/attestation.ts'
export type { Client } from '../../ports/rows/clients.ts'
export { auditLineOf } from '../../ports/security/audit-lines.ts'
export type { AuditRecord } from '../../ports/security/audit-log.ts'
export type { AuditFilter, AuditReader } from '../../ports/security/audit-reader.ts'

/** File in the data folder with clients, users, grants and revocations. */
export const GRANTS_FILE = 'grants.db'
/** Folder in the data folder with the signing keys. */
export const SIGNING_KEYS_FOLDER = 'signing-keys'

export type Administration = AdministrationPorts & {
  readonly grants: Grants
  readonly close: () => Promise<void>
}

/**
 * Returns why a server with the settings of this process would refuse to fetch client keys from the URI. Returns undefined if it would
 * fetch them.
 */
export const keysBlockReason = (uri: string): Promise<string | undefined> =>
  fetchBlockReason(uri, addressFilterOf(readConfig().privateHosts))

/** Whether a server has used the folder, or clients, users or keys were registered in it. */
export const hasData = (folder: string): boolean =>
  ['lock.db', 'store.db', GRANTS_FILE, SIGNING_KEYS_FOLDER].some((name) => existsSync(join(folder, name)))

/**
 * Opens the administration of a data folder. `isNew`: creates the folder and its store if they are missing. Otherwise throws an Error for a
 * folder without data.
 */
export async function openAdministration(folder: string, { isNew }: { readonly isNew: boolean }): Promise<Administration> {
  await checkEntry(folder, 'folder')
  if (!isNew && !hasData(folder))
    throw new Error(
      `There is no data in ${folder}: name the data folder of a server by --data, or the port of one that keeps nothing by --port`,
    )
  if (isNew) {
    await makeFolderFor(folder)
    await makeStore(folder)
  }
  for (const [name, kind] of [
    [GRANTS_FILE, 'file'],
    [SIGNING_KEYS_FOLDER, 'folder'],
  ] as const)
    await checkEntry(join(folder, name), kind)
  checkNotLost(folder)
  const clock = new SystemClock()
  const { close, ...stores } = openGrants(join(folder, GRANTS_FILE), () => clock.now())
  const audit = new CommandAuditLog(join(folder, AUDIT_FOLDER))
  return {
    ...{ ...stores, keys: new FilesystemSigningKeys(join(folder, SIGNING_KEYS_FOLDER)), clock, passwords: new Passwords(), wait },
    ...{ audit, operator: nameOfOperator() },
    async close() {
      await audit.close()
      await close()
    },
  }
}

/**
 * Returns the reader of the audit records of a data folder, whose server may run. `onDamaged`: called for each line that is no record. Throws
 * an Error for a folder without records.
 */
export async function openAuditReader(folder: string, onDamaged: (file: string, line: number) => void): Promise<AuditReader> {
  const records = join(folder, AUDIT_FOLDER)
  if (!existsSync(records)) throw new Error(`There are no audit records in ${folder}: name the data folder of a server by --data`)
  return new FilesystemAuditReader(records, onDamaged)
}

/**
 * Throws an Error if there are signing keys but no grants file. Opening would create an empty grants file, so the server would not notice
 * the loss.
 */
export function checkNotLost(folder: string): void {
  const [grants, keys] = [join(folder, GRANTS_FILE), join(folder, SIGNING_KEYS_FOLDER)]
  if (isEmpty(grants) && !isEmpty(keys))
    throw new Error(`${grants} was lost: put it back from a backup, or start the server, which then lets no older token in`)
}

const makeFolderFor = (folder: string): Promise<void> =>
  makeFolder(folder).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The data folder ${folder} cannot be made (${error.code})`, { cause: error })
  })
