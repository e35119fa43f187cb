/** The DynamoDB resource store, on an emulator. */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { DynamoDbResourceStore } from '../../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { HEAD_SORT_KEY, primaryKey } from '../../../lambdas/adapters/dynamodb/table-keys.ts'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import { SystemClock } from '../../../lambdas/adapters/in-process/system-clock.ts'
import type { ResourceKey } from '../../../lambdas/ports/store/resource-store.ts'
import { storedTenantsContract } from '../../contracts/known-tenants.contract.ts'
import { recentWritesContract } from '../../contracts/recent-writes.contract.ts'
import { resourceStoreContract } from '../../contracts/resource-store.contract.ts'
import { settledVersionsContract } from '../../contracts/settled-versions.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { TestTable } from '../../fixtures/dynamodb/store.ts'
import { isFullRun } from '../../fixtures/long-runs.ts'
import { waitOneTurn } from '../../fixtures/turns.ts'

const given = process.env.DYNAMODB_ENDPOINT
const isThorough = given !== undefined || isFullRun

await runOnDynamo((engine) => {
  const create = async () => {
    const table = await engine.newTable()
    const blobs = new FilesystemBlobStore(newFolder())
    const open = () =>
      new DynamoDbResourceStore({
        client: engine.client,
        table,
        blobs,
        clock: new SystemClock(),
        patience: 60_000,
        stampTime: Number.POSITIVE_INFINITY,
        settleTime: 0,
      })
    return { table, store: open(), another: async () => open() }
  }
  storedTenantsContract('DynamoDB', async () => ({ ...(await create()), close: async () => {} }))
  recentWritesContract('DynamoDB', async () => ({ store: (await create()).store, close: async () => {} }))
  settledVersionsContract('DynamoDB', async () => {
    const { client, idle } = watched(engine.client)
    const table = await TestTable.create(engine)
    const { clock } = table
    const pass = async (time: number) => {
      await idle()
      clock.ahead += time
    }
    return { store: table.store({ client, stampTime: 10_000 }), clock, pass, close: async () => {} }
  })
  resourceStoreContract(
    'DynamoDB',
    async () => {
      const { table, store } = await create()
      return { reader: store, writer: store, close: () => engine.stop(), damage: (key) => damageBody(engine.client, table, key) }
    },
    isThorough
      ? { largestCommit: given === undefined ? 300 : 5000 }
      : { largestCommit: 150, racers: 8, rounds: 3, pageSizes: [3, 1000], largestBody: 2_000_000 },
  )
})

/** `idle`: resolves when no call is in flight. */
function watched(client: DynamoDBDocumentClient) {
  const sent = new Set<Promise<unknown>>()
  const send = (...call: Parameters<typeof client.send>) => {
    const answer = client.send(...call) as unknown as Promise<unknown>
    sent.add(answer)
    return answer.finally(() => sent.delete(answer))
  }
  const idle = async () => {
    await waitOneTurn()
    while (sent.size > 0) await Promise.allSettled(sent)
  }
  return { client: { send } as unknown as DynamoDBDocumentClient, idle }
}

/** Changes the last byte of the body in the head item, which still inflates. */
async function damageBody(client: DynamoDBDocumentClient, TableName: string, key: ResourceKey): Promise<void> {
  const place = { TableName, Key: { pk: primaryKey(key), sk: HEAD_SORT_KEY } }
  const { Item: item } = await client.send(new GetCommand(place))
  const [format, ...deflated] = item!.v.z
  const whole = inflateRawSync(Uint8Array.from(deflated))
  whole[whole.length - 1]! ^= 1
  const z = Buffer.concat([Buffer.of(format), deflateRawSync(whole)])
  await client.send(new PutCommand({ TableName, Item: { ...item, v: { ...item!.v, z } } }))
}
