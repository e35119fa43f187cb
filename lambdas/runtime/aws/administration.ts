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
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { KEY_LIST } from '../../adapters/kms/published-keys.ts'
import { KmsSigningKeys } from '../../adapters/kms/signing-keys.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import type { AuditReader } from '../../ports/security/audit-reader.ts'
import type { Administration } from '../control/administration.ts'

/** Deployment on AWS. `stateTable`: name of its DynamoDB state table. */
export type Deployment = {
  readonly stage: string
  readonly region: string
  readonly stateTable: string
  /** Days for which audit records are retained, from the settings of the stage. */
  readonly auditRetentionDays: number
}

/** Maximum attempts of a DynamoDB call, and milliseconds per attempt. Both may be high, because an operator waits for the command. */
const LIMITS = { attempts: 8, patience: 10_000 }

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

/** Opens the audit records of a deployment. `close` must be called after the last record was read. */
export function openDeploymentAuditReader({ region, stateTable }: Pick<Deployment, 'region' | 'stateTable'>): AuditReader & {
  readonly close: () => void
} {
  const client = documentClient({ region })
  const reader = new DynamoDbAuditReader(new TableClient(client, stateTable, LIMITS))
  return { read: (period, filter) => reader.read(period, filter), close: () => client.destroy() }
}
