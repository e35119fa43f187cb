/** The resource store of the cloud home, on an emulator. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DynamoDbResourceStore } from '../../lambdas/adapters/dynamodb/resource-store.ts'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { SystemClock } from '../../lambdas/adapters/in-process/system-clock.ts'
import { resourceStoreContract } from '../contracts/resource-store.contract.ts'
import { onDynamo } from '../fixtures/dynamodb/on-dynamo.ts'

const given = process.env.DYNAMODB_ENDPOINT
const isThorough = given !== undefined || process.env.FHIR_TEST_FULL === '1'

await onDynamo((engine) =>
  resourceStoreContract(
    'DynamoDB',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'fhir-blobs-'))
      const store = new DynamoDbResourceStore({
        client: engine.client,
        table: await engine.newTable(),
        blobs: new FilesystemBlobStore(folder),
        clock: new SystemClock(),
        patience: 60_000,
        settle: 0,
      })
      const close = async () => {
        await engine.stop()
        rmSync(folder, { recursive: true, force: true })
      }
      return { reader: store, writer: store, close }
    },
    isThorough ? { largestCommit: given === undefined ? 300 : 5000 } : { largestCommit: 150, racers: 8, largestBody: 2_000_000 },
  ),
)
