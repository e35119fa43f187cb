/**
 * Administration of a deployment on AWS: clients, users, grants, revocations and signing keys, in its state table and in KMS. It uses the
 * operator's AWS credentials.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbAuditLog, DynamoDbAuditReader } from '../../adapters/dynamodb/rows/audit-log.ts'
import { DynamoDbGrants } from '../../adapters/dynamodb/rows/grants.ts'
import { DynamoDbClients, DynamoDbUsers } from '../../adapters/dynamodb/rows/registered.ts'
import { DynamoDbRevocations } from '../../adapters/dynamodb/rows/revocations.ts'
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { DynamoDbTransferReader } from '../../adapters/dynamodb/rows/transfer-reader.ts'
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { KEY_LIST } from '../../adapters/kms/published-keys.ts'
import { KmsSigningKeys } from '../../adapters/kms/signing-keys.ts'
import { openS3AuditReaders, openS3BlobStore } from '../../adapters/s3/open-blob-store.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import type { AuditFilter, AuditReader } from '../../ports/security/audit-reader.ts'
import { AUDIT_MINUTE_MS, type AuditSource, readAuditMinutes } from '../../ports/security/audit-source.ts'
import type { TransferReader } from '../../ports/security/transfers.ts'
import type { Administration } from '../control/administration.ts'
import type { DisclosureRecords } from '../control/disclosures.ts'

/** Deployment on AWS. `stateTable`: name of its DynamoDB state table. */
export type Deployment = {
  readonly stage: string
  readonly region: string
  readonly stateTable: string
  /** Days for which audit records are retained, from the settings of the stage. */
  readonly auditRetentionDays: number
  /** S3 bucket to which the stage archives audit records; absent if it does not. */
  readonly auditBucket?: string
}

/** Maximum attempts of a DynamoDB call, and milliseconds per attempt. Both may be high, because an operator waits for the command. */
export const LIMITS = { attempts: 8, patience: 10_000 }
const DAY = 24 * 60 * AUDIT_MINUTE_MS

export function openDeploymentAdministration({ stage, region, stateTable, auditRetentionDays }: Deployment): Administration {
  const client = documentClient({ region })
  const dynamo = new TableClient(client, stateTable, LIMITS)
  const clock = new SystemClock()
  const now = () => clock.now()
  const newId = () => clock.newId()
  return {
    clients: new DynamoDbClients(dynamo),
    users: new DynamoDbUsers(dynamo),
    grants: new DynamoDbGrants(dynamo, now),
    revocations: new DynamoDbRevocations(dynamo, now),
    keys: new KmsSigningKeys({ kept: new DynamoDbSharedState(dynamo, KEY_LIST, []), stage, region }),
    audit: new DynamoDbAuditLog({
      dynamo,
      retentionDays: auditRetentionDays,
      durability: 'strict',
      newId,
      onError: () => undefined,
    }),
    ...{ clock, passwords: new Passwords(), wait },
    close: async () => client.destroy(),
  }
}

/** `archiveStart`: returns the start of the first archived day in milliseconds since 1970; undefined: nothing is archived. */
export type DeploymentAuditReader = AuditReader & {
  readonly archiveStart: () => Promise<number | undefined>
  readonly close: () => void
}

/**
 * Opens the audit records of a deployment, in its table and its archive. For days whose records have expired in the table, it reads only the
 * archive, because the table costs 64 queries for each minute. `close` must be called after the last record was read.
 */
export function openDeploymentAuditReader(
  { region, stateTable, auditBucket, auditRetentionDays }: Omit<Deployment, 'stage'>,
  now: number = Date.now(),
): DeploymentAuditReader {
  const client = documentClient({ region })
  const table = new DynamoDbAuditReader(new TableClient(client, stateTable, LIMITS))
  if (auditBucket === undefined)
    return { read: (period, filter) => table.read(period, filter), archiveStart: async () => undefined, close: () => client.destroy() }
  const archive = openS3AuditReaders({ region, bucket: auditBucket })
  const oldest = now - auditRetentionDays * DAY
  const unexpired: AuditSource = {
    readMinute: async (minute, isWanted) => (minute + AUDIT_MINUTE_MS > oldest ? table.readMinute(minute, isWanted) : []),
  }
  return {
    read: (period, filter) => readAuditMinutes([unexpired, archive.open(archivedTenantOf(filter))], period, filter),
    archiveStart: () => archive.open().firstDay(),
    close() {
      client.destroy()
      archive.close()
    },
  }
}

/**
 * Returns the tenant whose folder holds all records that can pass the filter, or undefined if other folders hold some too: the record of a
 * login page of several tenants names patients of each.
 */
const archivedTenantOf = ({ tenant, patient }: AuditFilter): string | undefined => (patient === undefined ? tenant : undefined)

/** Opens the transfers of a deployment. `close` must be called after the last one was read. */
export function openDeploymentTransferReader({ region, stateTable }: Pick<Deployment, 'region' | 'stateTable'>): TransferReader & {
  readonly close: () => void
} {
  const client = documentClient({ region })
  const reader = new DynamoDbTransferReader(new TableClient(client, stateTable, LIMITS))
  return { read: (year) => reader.read(year), close: () => client.destroy() }
}

/** Opens the records of disclosures of a deployment. `bucket`: S3 bucket of its data. */
export const openDeploymentDisclosures = ({ region, bucket }: { readonly region: string; readonly bucket: string }): DisclosureRecords =>
  openS3BlobStore(bucket, { region })
