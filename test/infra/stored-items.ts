/**
 * Bytes that DynamoDB stores, and charges, for resources of the sample and for an audit record. Measured with the items that the adapters
 * write. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
import { createHash } from 'node:crypto'
import { DynamoDbAuditLog } from '../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import type { Item, TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { TABLE_DEFINITION } from '../../lambdas/adapters/dynamodb/table-keys.ts'
import { contentOf, headItem } from '../../lambdas/adapters/dynamodb/version-item.ts'
import { S3AuditArchive } from '../../lambdas/adapters/s3/audit-archive.ts'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import { stampResource } from '../../lambdas/fhir/version.ts'
import type { BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'
import type { Write } from '../../lambdas/ports/store/resource-store.ts'
import { archiveStream } from '../../lambdas/runtime/aws/audit-archive.ts'
import { identifiersOf } from '../../lambdas/search/documents/identifiers.ts'
import type { VersionSizes } from '../../lib/model/sample-sizes.ts'
import { auditItemsOf, auditStreamRecord } from '../fixtures/audit-stream.ts'
import { readData } from '../fixtures/count-synthea.ts'
import { itemSizeOf } from '../fixtures/dynamodb/capacity.ts'
import { createVersionedBucket } from '../fixtures/versioned-bucket.ts'

/** Bytes that DynamoDB adds to each item, and to each item of an index. */
const OVERHEAD = 100

const INSTANT = Date.UTC(2031, 0, 1)
const UUID = '00000000-0000-4000-8000-000000000000'

/** Attributes that the index holds. */
const INDEXED = [...TABLE_DEFINITION.KeySchema, ...TABLE_DEFINITION.GlobalSecondaryIndexes.flatMap(({ KeySchema }) => KeySchema)].map(
  ({ AttributeName }) => AttributeName,
)

/** Total bytes of some resources: as JSON, in the table, and in its index. `units`: write units of their items. `identifiers`: their number. */
export type StoredBytes = VersionSizes & { readonly count: number }

/** Returns the bytes of the resources of the sample of these types, or of all types. Each has one version. */
export async function measureSample(...types: readonly string[]): Promise<StoredBytes> {
  const resources = readData('test/fixtures/sample').all.filter(({ resourceType }) => types.length === 0 || types.includes(resourceType))
  let [json, table, index, units, identifiers] = [0, 0, 0, 0, 0]
  for (const resource of resources) {
    const stamped = stampResource(resource, resource.id, 1, INSTANT)
    const body = Buffer.from(JSON.stringify(stamped))
    const write: Write = {
      ...{ tenant: 'default', type: resource.resourceType, id: resource.id, expected: 0, lastUpdated: INSTANT, deleted: false },
      ...{ made: 'create', compartments: compartmentsOf(stamped, {}), body },
    }
    const item = headItem({ write, content: await contentOf(write, UUID, NO_BLOBS), index: 0, shard: 0 })
    json += body.length
    table += itemSizeOf(item) + OVERHEAD
    units += Math.ceil(itemSizeOf(item) / 1024)
    identifiers += identifiersOf(resource.resourceType, resource).length
    index += itemSizeOf(Object.fromEntries(INDEXED.map((name) => [name, item[name]]))) + OVERHEAD
  }
  return { count: resources.length, json, table, index, units, identifiers }
}

const NO_BLOBS = {
  put: async (key: string) => {
    throw new Error(`a body of the sample is too large for an item: ${key}`)
  },
} as unknown as BlobStore

/** Maximum bytes of a batch that Lambda passes to a function. */
const BATCH_BYTES = 6_000_000

/**
 * Returns the number of audit records in a batch of the stream, and the bytes of one in the archive. The records are those of reads as in
 * `measureAuditRecord`, each of another Observation, of 500 patients by 50 users.
 */
export async function measureArchive(): Promise<{ readonly batch: number; readonly bytes: number }> {
  const uuid = (...names: readonly unknown[]): string => {
    const hex = createHash('sha256').update(names.join()).digest('hex')
    return [0, 8, 12, 16, 20].map((start, i, starts) => hex.slice(start, starts[i + 1] ?? 32)).join('-')
  }
  const records = Array.from({ length: 6_000 }, (_, i) => ({
    ...{ at: INSTANT + i * 4, requestId: uuid('request', i), tenant: 'default', client: 'app', subject: uuid('user', i % 50) },
    ...{ scopes: 'user/*.rs openid fhirUser', interaction: 'read', key: `Observation/${uuid(i)}`, status: 200, duration: 12 },
    patients: [`Patient/${uuid('patient', i % 500)}`],
  }))
  const Records = (await auditItemsOf(records)).map((item) => auditStreamRecord(item))
  const batch = Math.floor(BATCH_BYTES / (JSON.stringify(Records).length / Records.length))
  const bucket = createVersionedBucket()
  await archiveStream(new S3AuditArchive(bucket.client, 'b'))({ Records: Records.slice(0, batch) })
  return { batch, bytes: bucket.versions[0]!.bytes.length / batch }
}

/** Returns the bytes of the audit record of a read of an Observation, which shows data of one patient. */
export async function measureAuditRecord(): Promise<number> {
  const items: Item[] = []
  const dynamo = { putAll: async (all: readonly Item[]) => void items.push(...all) } as unknown as TableClient
  const log = new DynamoDbAuditLog({ dynamo, retentionDays: 90, durability: 'strict', newId: () => UUID, onError: () => undefined })
  await log.record({
    ...{ at: INSTANT, requestId: UUID, tenant: 'default', client: 'app', subject: UUID, scopes: 'user/*.rs openid fhirUser' },
    ...{ interaction: 'read', key: `Observation/${UUID}`, patients: [`Patient/${UUID}`], status: 200, duration: 12 },
  })
  return items.reduce((sum, item) => sum + itemSizeOf(item) + OVERHEAD, 0)
}
